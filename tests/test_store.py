"""Append-only stores: torn lines, damage, two processes, a full disk, a kill at any moment."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import zlib
from pathlib import Path

import pytest

from faultline import store as store_module
from faultline.errors import StoreError
from faultline.store import AppendStore, disk_error, exclusive, write_file


def filled(path: Path, n: int = 3) -> bytes:
    store = AppendStore(path)
    store.append([(f"r{i}", {"value": i, "text": "é" * i}) for i in range(n)])
    return path.read_bytes()


def in_process(code: str, *arguments, **options):
    """Start another interpreter."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_a_line_is_a_checksum_and_json(tmp_path):
    path = tmp_path / "deep" / "s.jsonl"
    for line, i in zip(filled(path).splitlines(), range(3), strict=True):
        crc, body = line[:8], line[9:]
        assert int(crc, 16) == zlib.crc32(body)
        assert json.loads(body) == {"id": f"r{i}", "record": {"value": i, "text": "é" * i}}


def test_reading_keeps_order_and_an_absent_file_is_empty(tmp_path):
    assert AppendStore(tmp_path / "none.jsonl").read() == {}
    assert AppendStore(tmp_path / "none.jsonl").ids() == set()
    path = tmp_path / "s.jsonl"
    store = AppendStore(path)
    store.append([("b", 1)])
    store.append([("a", 2), ("c", 3)])
    assert list(store.read().items()) == [("b", 1), ("a", 2), ("c", 3)]
    assert AppendStore(path).ids() == store.ids() == {"a", "b", "c"}


def test_a_line_torn_at_any_byte_is_dropped_and_written_again(tmp_path):
    whole = filled(tmp_path / "whole.jsonl")
    last = whole[: whole.rstrip(b"\n").rfind(b"\n") + 1]
    path = tmp_path / "torn.jsonl"
    for cut in range(len(last), len(whole)):
        path.write_bytes(whole[:cut])
        store = AppendStore(path)
        assert store.ids() == {"r0", "r1"}, cut
        store.append([("r2", {"value": 2, "text": "éé"})])
        assert path.read_bytes() == whole, cut


def test_a_last_line_of_garbage_is_dropped(tmp_path):
    whole = filled(tmp_path / "s.jsonl")
    path = tmp_path / "s.jsonl"
    path.write_bytes(whole + b"\x00" * 40 + b"\n")  # blocks of zeros after a power cut
    store = AppendStore(path)
    assert len(store.ids()) == 3
    store.append([("r3", 1)])
    assert path.read_bytes().startswith(whole)
    assert list(AppendStore(path).read())[-1] == "r3"


@pytest.mark.parametrize("number", [1, 2])
def test_damage_in_the_middle_names_the_line(tmp_path, number):
    path = tmp_path / "s.jsonl"
    lines = filled(path).splitlines(keepends=True)
    lines[number - 1] = lines[number - 1].replace(b'"value":', b'"valve":')
    path.write_bytes(b"".join(lines))
    for call in (AppendStore(path).read, AppendStore(path).ids, lambda: AppendStore(path).append([("x", 1)])):
        with pytest.raises(StoreError, match=rf"s.jsonl: line {number} is damaged; delete"):
            call()
    assert path.read_bytes() == b"".join(lines)


def test_nothing_is_written_twice(tmp_path):
    path = tmp_path / "s.jsonl"
    before = filled(path)
    store = AppendStore(path)
    for records in ([("r1", 0)], [("new", 0), ("r0", 0)], [("x", 0), ("x", 1)]):
        with pytest.raises(StoreError, match="written twice"):
            store.append(records)
    assert path.read_bytes() == before


def test_the_message_names_the_record_that_occurs_twice_in_one_call(tmp_path):
    with pytest.raises(StoreError, match="'b' written twice"):
        AppendStore(tmp_path / "s.jsonl").append([("a", 0), ("b", 0), ("b", 1)])


def test_appending_nothing_is_fine(tmp_path):
    store = AppendStore(tmp_path / "s.jsonl")
    store.append([])
    assert store.read() == {}


TWO = """
import sys, time
from pathlib import Path
from faultline.store import AppendStore, exclusive
path, who = Path(sys.argv[1]), sys.argv[2]
with exclusive(path.with_suffix(".lock")):
    store = AppendStore(path)
    for i in range(20):
        if f"r{i}" not in store.ids():
            store.append([(f"r{i}", who)])
            time.sleep(0.002)
"""


def test_two_processes_share_the_work_without_doubles(tmp_path):
    path = tmp_path / "s.jsonl"
    both = [in_process(TWO, path, who) for who in ("one", "two")]
    for process in both:
        assert process.wait(60) == 0, process.stderr.read()
        process.communicate()
    found = AppendStore(path).read()
    assert list(found) == [f"r{i}" for i in range(20)]
    assert len(set(found.values())) == 1, "the second process found everything done"


def test_a_lock_is_free_again_after_its_holder_was_killed(tmp_path):
    path = tmp_path / "x.lock"
    holder = in_process(
        """
        import sys, time
        from pathlib import Path
        from faultline.store import exclusive
        with exclusive(Path(sys.argv[1])):
            print("held", flush=True)
            time.sleep(60)
        """,
        path,
    )
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.communicate()
    with exclusive(path):  # would wait for ever
        assert path.exists()


def test_a_lock_is_free_again_after_an_error(tmp_path):
    with pytest.raises(RuntimeError), exclusive(tmp_path / "x.lock"):
        raise RuntimeError
    with exclusive(tmp_path / "x.lock"):
        pass


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 64 KiB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no right to mount a small file system")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_leaves_the_store_as_it_was(tiny_disk):
    path = tiny_disk / "s.jsonl"
    store = AppendStore(path)
    store.append([("first", "x" * 1000)])
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"s\.jsonl: the disk is full; free some space") as caught:
        store.append([("big", "x" * 100_000)])
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    store.append([("small", 1)])  # space is there again: the same store goes on
    assert list(AppendStore(path).read()) == ["first", "small"]


@pytest.mark.parametrize("size", [10, 3000, 7000, 20_000])
def test_a_record_smaller_than_the_write_buffer_is_not_half_written(tiny_disk, size):
    path = tiny_disk / "s.jsonl"
    store = AppendStore(path)
    store.append([("first", "x" * 4000)])
    before = path.read_bytes()
    filler = tiny_disk / "filler"
    with filler.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while stream.write(b"x" * 512):
            pass
    spare = 4096 - len(before) % 4096  # of the store's last page, which a full disk still gives
    with pytest.raises(StoreError, match="the disk is full"):
        store.append([("next", "y" * (size + spare))])
    assert path.read_bytes() == before
    filler.unlink()
    store.append([("next", "z")])
    assert list(AppendStore(path).read()) == ["first", "next"]


def test_a_full_disk_leaves_a_file_as_it_was(tiny_disk):
    path = tiny_disk / "manifest.json"
    write_file(path, b"old")
    with pytest.raises(StoreError, match="the disk is full"):
        write_file(path, b"x" * 100_000)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tiny_disk.iterdir()] == ["manifest.json"]


def test_a_file_size_limit_leaves_the_store_as_it_was(tmp_path):
    path = tmp_path / "s.jsonl"
    before = filled(path)
    process = in_process(
        """
        import resource, signal, sys
        from pathlib import Path
        from faultline.errors import StoreError
        from faultline.store import AppendStore, write_file
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        path = Path(sys.argv[1])
        for call in (
            lambda: AppendStore(path).append([("big", "x" * 50_000)]),
            lambda: write_file(path, b"x" * 50_000),
        ):
            try:
                call()
            except StoreError as error:
                print(error)
        """,
        path,
    )
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    lines = out.splitlines()
    assert len(lines) == 2
    assert all("cannot be written" in line and "s.jsonl" in line for line in lines)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["s.jsonl"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 4096


def test_a_folder_that_cannot_be_made_is_a_store_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        write_file(tmp_path / "file" / "x.json", b"")
    with pytest.raises(StoreError, match="cannot be written"):
        AppendStore(tmp_path / "file" / "s.jsonl").append([("a", 1)])
    with pytest.raises(StoreError, match="cannot be written"), exclusive(tmp_path / "file" / "x.lock"):
        pass


def test_disk_errors_are_told_apart():
    full = disk_error(OSError(28, "No space left on device"), Path("a"))
    quota = disk_error(OSError(122, "Disk quota exceeded"), Path("a"))
    other = disk_error(OSError(5, "Input/output error"), Path("a"))
    assert "the disk is full" in str(full) and "the disk is full" in str(quota)
    assert "Input/output error" in str(other)


def test_write_file_replaces_at_once_and_leaves_no_part(tmp_path):
    path = tmp_path / "deep" / "a.json"
    write_file(path, b"one")
    write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["a.json"]


WRITER = """
import sys
from pathlib import Path
from faultline.store import AppendStore
store = AppendStore(Path(sys.argv[1]))
for i in range(400):
    if f"r{i:03d}" not in store.ids():
        store.append([(f"r{i:03d}", "x" * 2000)])
        print(i, flush=True)
"""


def test_killed_at_several_moments_the_store_ends_with_the_same_bytes(tmp_path):
    path = tmp_path / "s.jsonl"
    for until in (1, 7, 40, 41, 150):
        process = in_process(WRITER, path)
        for line in process.stdout:
            if int(line) >= until:
                break
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    final = in_process(WRITER, path)
    assert final.wait(60) == 0
    final.communicate()
    whole = AppendStore(tmp_path / "whole.jsonl")
    whole.append([(f"r{i:03d}", "x" * 2000) for i in range(400)])
    assert path.read_bytes() == whole.path.read_bytes()


def test_every_append_reaches_the_disk(tmp_path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(store_module.os, "fsync", lambda fd: (synced.append(fd), real(fd))[1])
    AppendStore(tmp_path / "s.jsonl").append([("a", 1)])
    assert len(synced) == 1

"""The chain finds every edit, deletion, insertion and reordering; the log survives threads and torn ends."""

import random
import subprocess
import sys
import threading
from pathlib import Path

import orjson
import pytest

from experiments import audit as command
from faultline.errors import DataError, StoreError
from faultline.live.audit import NIST, START, AuditLog, head_path, verify


def written(path: Path, n: int = 6, key: bytes | None = None) -> list[bytes]:
    log = AuditLog(path, key=key, durable=False)
    for i in range(n):
        log.append("verdict", {"trajectory": "t", "score": i / 10}, {"claim": f"claim {i}"})
    return path.read_bytes().splitlines(keepends=True)


def test_a_whole_log_is_whole(tmp_path):
    lines = written(tmp_path / "a.jsonl")
    assert verify(tmp_path / "a.jsonl") == (6, [])
    first = orjson.loads(lines[0])
    assert first["prev"] == START
    assert first["seq"] == 1
    assert orjson.loads(lines[1])["prev"] == first["hash"]


def test_every_edit_of_every_byte_is_found(tmp_path):
    path = tmp_path / "a.jsonl"
    data = b"".join(written(path))
    rng = random.Random(0)
    for position in rng.sample(range(len(data)), 200):
        broken = bytearray(data)
        broken[position] ^= 1 << rng.randrange(7)
        path.write_bytes(broken)
        assert verify(path)[1], position


@pytest.mark.parametrize("at", range(6))
def test_every_deletion_is_found(tmp_path, at):
    path = tmp_path / "a.jsonl"
    lines = written(path)
    path.write_bytes(b"".join(lines[:at] + lines[at + 1 :]))
    assert verify(path)[1]


def test_every_swap_and_repetition_is_found(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = written(path)
    for i in range(5):
        swapped = list(lines)
        swapped[i], swapped[i + 1] = swapped[i + 1], swapped[i]
        path.write_bytes(b"".join(swapped))
        assert verify(path)[1]
        path.write_bytes(b"".join([*lines[: i + 1], *lines[i:]]))
        assert verify(path)[1]


def test_a_forged_chain_needs_the_key(tmp_path):
    path, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    written(path, key=b"k1")
    assert verify(path, b"k1") == (6, [])
    assert len(verify(path)[1]) == 6
    written(other)
    assert len(verify(other, b"k1")[1]) == 6


def test_a_lost_head_is_said(tmp_path):
    written(tmp_path / "a.jsonl")
    head_path(tmp_path / "a.jsonl").unlink()
    assert "cut-off end cannot be seen" in verify(tmp_path / "a.jsonl")[1][0]


def test_a_torn_end_is_not_written_over(tmp_path):
    path = tmp_path / "a.jsonl"
    data = b"".join(written(path))
    path.write_bytes(data[:-9])
    with pytest.raises(StoreError, match="last line is no whole record"):
        AuditLog(path).append("verdict", {})
    assert path.read_bytes() == data[:-9]
    assert verify(path)[1]


def test_threads_and_logs_make_one_chain(tmp_path):
    path = tmp_path / "a.jsonl"

    def work():
        log = AuditLog(path, durable=False)
        for _ in range(20):
            log.append("verdict", {})

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verify(path) == (100, [])


def test_texts_are_kept_only_when_asked_for(tmp_path):
    AuditLog(tmp_path / "a.jsonl").append("verdict", {}, {"claim": "a secret claim"})
    AuditLog(tmp_path / "b.jsonl", texts=True).append("verdict", {}, {"claim": "a secret claim"})
    assert b"a secret claim" not in (tmp_path / "a.jsonl").read_bytes()
    assert b"a secret claim" in (tmp_path / "b.jsonl").read_bytes()


def test_a_long_record_is_found_at_the_end(tmp_path):
    log = AuditLog(tmp_path / "a.jsonl", texts=True)
    for n in (10, 50_000, 10):
        log.append("verdict", {}, {"claim": "x" * n})
    assert verify(tmp_path / "a.jsonl") == (3, [])


def test_table_eight_is_complete():
    assert set(NIST) == {"sfv", "csct", "cpm", "crt"}
    assert NIST["crt"] == (("GOVERN", "MANAGE"), "Human oversight and intervention")


def test_the_command(tmp_path, capsys):
    path = tmp_path / "a.jsonl"
    lines = written(path)
    assert command.main(["verify", str(path)]) == 0
    assert command.main(["show", str(path)]) == 0
    path.write_bytes(b"".join(lines[1:]))
    assert command.main(["verify", str(path)]) == 1
    assert command.main(["verify", str(tmp_path / "none")]) == 2
    told = capsys.readouterr()
    assert "6 records, 0 problems" in told.out
    assert "seq=3" in told.out
    assert "no such file" in told.err


def test_no_such_log(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        verify(tmp_path / "none")


def test_killed_while_writing_leaves_a_verifiable_log(tmp_path):
    path = tmp_path / "a.jsonl"
    code = (
        "import sys; from faultline.live.audit import AuditLog\n"
        f"log = AuditLog({str(path)!r}, durable=False)\n"
        "while True:\n    log.append('verdict', {})\n    print('.', flush=True)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    for _ in range(30):
        process.stdout.readline()
    process.kill()
    process.wait()
    count, problems = verify(path)
    assert count >= 30
    assert problems in ([], [f"line {count + 1}: no end of line, the record was cut off"])

from __future__ import annotations

import pickle
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from faultline.errors import StoreError
from faultline.inference.cache import ScoreCache, namespace

SPACE = namespace("nli", "d" * 64, "fp32@cpu", "p" * 64)

WRITER = """
import sys
import numpy as np
from faultline.inference.cache import ScoreCache
cache = ScoreCache(sys.argv[1])
for step in range(40):
    rows = {f"{sys.argv[2]}-{step}": np.full(3, step, np.float32), "both": np.ones(3, np.float32)}
    cache.put_many("n", rows)
    assert cache.get_many("n", [f"{sys.argv[2]}-{step}"])
"""


@given(hnp.arrays(np.float32, st.integers(0, 20)))
def test_rows_come_back_bit_by_bit(tmp_path_factory, row):
    cache = ScoreCache(tmp_path_factory.mktemp("cache") / "scores.sqlite")
    cache.put_many(SPACE, {"a": row})
    assert cache.get_many(SPACE, ["a"])["a"].tobytes() == row.tobytes()


def test_namespaces_are_apart_and_absent_keys_are_absent(tmp_path):
    cache = ScoreCache(tmp_path / "deep" / "scores.sqlite")
    cache.put_many(SPACE, {f"k{number}": np.array([number], np.float32) for number in range(1200)})
    found = cache.get_many(SPACE, [f"k{number}" for number in range(0, 2400, 2)])
    assert sorted(found) == sorted(f"k{number}" for number in range(0, 1200, 2))
    assert cache.get_many(SPACE + "x", ["k1"]) == {}
    assert cache.get_many(SPACE, []) == {}


def test_a_flipped_byte_is_found_dropped_and_counted(tmp_path):
    path = tmp_path / "scores.sqlite"
    cache = ScoreCache(path)
    marker = np.array([0.12345, 0.6789, 0.424242], np.float32)
    cache.put_many(SPACE, {"good": np.zeros(3, np.float32), "bad": marker})
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    raw = bytearray(path.read_bytes())
    raw[raw.index(marker.tobytes()) + 5] ^= 1
    path.write_bytes(raw)
    assert list(cache.get_many(SPACE, ["good", "bad"])) == ["good"]
    assert cache.dropped == 1
    assert list(cache.get_many(SPACE, ["good", "bad"])) == ["good"]
    assert cache.dropped == 1


def test_a_value_under_another_key_is_damage(tmp_path):
    cache = ScoreCache(tmp_path / "scores.sqlite")
    cache.put_many(SPACE, {"a": np.zeros(3, np.float32)})
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE scores SET key = 'b'")
    connection.close()
    assert cache.get_many(SPACE, ["b"]) == {}
    assert cache.dropped == 1


def test_a_file_that_is_no_database(tmp_path):
    path = tmp_path / "scores.sqlite"
    path.write_bytes(b"not a database, but long enough to be looked at" * 40)
    with pytest.raises(StoreError, match=r"scores\.sqlite.*delete the file") as caught:
        ScoreCache(path)
    assert "\n" not in str(caught.value)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        ScoreCache(tmp_path / "file" / "scores.sqlite")


def test_two_processes_write_at_once(tmp_path):
    path = tmp_path / "scores.sqlite"
    workers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "xy"]
    assert [worker.wait() for worker in workers] == [0, 0]
    keys = [f"{name}-{step}" for name in "xy" for step in range(40)]
    found = ScoreCache(path).get_many("n", [*keys, "both"])
    assert len(found) == 81
    assert all(found[key][0] == int(key.partition("-")[2]) for key in keys)


def test_it_pickles(tmp_path):
    cache = ScoreCache(tmp_path / "scores.sqlite")
    cache.put_many(SPACE, {"a": np.ones(2, np.float32)})
    assert list(pickle.loads(pickle.dumps(cache)).get_many(SPACE, ["a"])) == ["a"]


OLD = """CREATE TABLE scores (
    namespace TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (namespace, key)) WITHOUT ROWID"""


def filled(path, monkeypatch):
    """Three entries of two models, written at 100, 300 and 200 seconds: the clock jumped back."""
    cache = ScoreCache(path)
    for number, now in enumerate((100.0, 300.0, 200.0)):
        monkeypatch.setattr("faultline.inference.cache.time.time", lambda now=now: now)
        space = namespace("nli", "ab"[number % 2] * 64, "fp32@cpu", "p" * 64)
        cache.put_many(space, {f"k{number}": np.full(3, number, np.float32)})
    return cache


def test_stats_count_by_model_and_the_oldest_go_first(tmp_path, monkeypatch):
    cache = filled(tmp_path / "s.sqlite", monkeypatch)
    found = cache.stats()
    assert {name: n for name, (n, _) in found.by_model.items()} == {
        "nli/aaaaaaaaaaaa/fp32@cpu": 2,
        "nli/bbbbbbbbbbbb/fp32@cpu": 1,
    }
    one = found.bytes // 3
    assert cache.prune(max_bytes=2 * one) == 1
    assert cache.get_many(namespace("nli", "a" * 64, "fp32@cpu", "p" * 64), ["k0", "k2"]).keys() == {"k2"}
    assert cache.stats().bytes == 2 * one
    assert cache.prune(older_than_s=1e6) == 0
    assert cache.prune(digest="bbb") == 1
    assert cache.prune(digest="zzz") == 0
    assert cache.stats().entries == 1


def test_the_size_is_bounded_without_being_asked(tmp_path):
    cache = ScoreCache(tmp_path / "s.sqlite", max_mb=0.2)
    for step in range(400):
        cache.put_many(SPACE, {f"{step:04}-{n}": np.zeros(3, np.float32) for n in range(20)})
    assert 0 < cache.stats().bytes <= 200_000
    assert cache.get_many(SPACE, ["0399-0"])
    assert not cache.get_many(SPACE, ["0000-0"])


def test_a_database_of_the_earlier_layout_goes_on_working(tmp_path):
    path = tmp_path / "s.sqlite"
    new = ScoreCache(tmp_path / "new.sqlite")
    new.put_many(SPACE, {"a": np.ones(3, np.float32)})
    with sqlite3.connect(new.path) as connection:
        entry = connection.execute("SELECT namespace, key, value, crc FROM scores").fetchone()
    with sqlite3.connect(path) as connection:
        connection.execute(OLD)
        connection.execute("INSERT INTO scores VALUES (?, ?, ?, ?)", entry)
    cache = ScoreCache(path)
    cache.put_many(SPACE, {"b": np.ones(3, np.float32)})
    assert cache.get_many(SPACE, ["a", "b"]).keys() == {"a", "b"}
    assert ScoreCache(path).verify() == []
    assert cache.prune(older_than_s=3600) == 1


def test_verify_names_the_damaged_entry_and_leaves_it(tmp_path, monkeypatch):
    cache = filled(tmp_path / "s.sqlite", monkeypatch)
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE scores SET crc = crc + 1 WHERE key = 'k1'")
    assert cache.verify() == ["nli/bbbbbbbbbbbb/fp32@cpu k1: checksum differs"]
    assert cache.stats().entries == 3

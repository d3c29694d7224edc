"""The reply cache: bound, damage, several processes."""

from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path

import pytest

from faultline.chat.messages import Message, Reply, Request, TokenLogprob, ToolCall, Usage
from faultline.chat.reply_cache import KEY_LENGTH, ReplyCache
from faultline.codec import key_of
from faultline.errors import Missing, StoreError

REPLY = Reply(
    "Zoë",
    Missing.TRUNCATED,
    "length",
    "m",
    Usage(1, None),
    (TokenLogprob("5a", -0.5),),
    (ToolCall("1", "search", {"query": "x"}),),
)


def entry(number: int) -> tuple[str, dict[str, object]]:
    asked = {"model": {"model": "m"}, "request": Request((Message("user", str(number)),))}
    return key_of(asked, KEY_LENGTH), asked


def fill(path: Path, first: int) -> None:
    cache = ReplyCache(path)
    for number in range(first, first + 50):
        key, asked = entry(number % 75)
        cache.put(key, "m", asked, Reply(f"from {first}"), replace=False)


def test_a_reply_comes_back_as_it_was(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "c.sqlite")
    key, asked = entry(0)
    assert cache.get(key) is None
    cache.put(key, "m", asked, REPLY, replace=False)
    assert cache.get(key) == REPLY
    assert cache.verify() == []


def test_the_first_of_two_writers_wins_unless_replaced(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "c.sqlite")
    key, asked = entry(0)
    cache.put(key, "m", asked, Reply("one"), replace=False)
    assert cache.put(key, "m", asked, Reply("two"), replace=False).text == "one"
    assert cache.put(key, "m", asked, Reply("three"), replace=True).text == "three"


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=fill, args=(tmp_path / "c.sqlite", i * 25)) for i in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [w.exitcode for w in workers] == [0, 0, 0]
    cache = ReplyCache(tmp_path / "c.sqlite")
    assert cache.stats().entries == 75
    assert cache.verify() == []


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "c.sqlite")
    for number in range(10):
        key, asked = entry(number)
        cache.put(key, "m", asked, Reply("x" * 1000), replace=False)
    cache.get(entry(0)[0])
    size = cache.stats().bytes // 10
    assert cache.prune(max_bytes=4 * size + 50) == 6
    assert cache.stats().bytes <= 4 * size + 50
    assert cache.get(entry(0)[0]) is not None
    assert cache.get(entry(1)[0]) is None
    assert cache.prune(model="other") == 0
    assert cache.prune(older_than_s=-1.0) == 4


def test_damage_is_found_and_counts_as_absent(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    cache = ReplyCache(path)
    for number in range(2):
        key, asked = entry(number)
        cache.put(key, "m", asked, Reply(str(number)), replace=False)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE replies SET reply = ? WHERE key = ?", (b"{}", entry(0)[0]))
        connection.execute("UPDATE replies SET key = 'moved' WHERE key = ?", (entry(1)[0],))
    assert len(cache.verify()) == 2
    assert cache.get(entry(0)[0]) is None
    assert len(cache.verify()) == 1


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "c.sqlite").write_text("hello, this is not a database at all" * 100)
    with pytest.raises(StoreError, match=r"c\.sqlite"):
        ReplyCache(tmp_path / "c.sqlite")

"""Replies on disk, by content: SQLite, safe with several processes, each with its request and checksum."""

from __future__ import annotations

import hashlib
import sqlite3
import time
import zlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from faultline.chat.messages import Reply
from faultline.codec import decode, encode
from faultline.database import connected
from faultline.errors import StoreError

MODES = ("use", "refresh", "replay")
FILE = "replies.sqlite"
KEY_LENGTH = 40

_TABLE = """CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, asked BLOB NOT NULL, reply BLOB NOT NULL, crc INTEGER NOT NULL,
    bytes INTEGER NOT NULL, created REAL NOT NULL, used REAL NOT NULL) WITHOUT ROWID"""
_CHECK_EVERY = 100


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What a cache holds: entries and bytes by model."""

    entries: int
    bytes: int
    by_model: Mapping[str, tuple[int, int]]


class ReplyCache:
    """Replies by the key of (model identity, fully rendered request, sample).

    A connection is opened for each call, so an instance may be shared by threads and pickled.

    Args:
        path: The database; on a local disk.
        max_mb: Least recently used entries go when the entries take more.
        timeout: Seconds to wait for another process that writes.

    Raises:
        StoreError: The file is not a usable database.
    """

    def __init__(self, path: Path, max_mb: float = 2048.0, timeout: float = 60.0) -> None:
        self.path = path
        self.max_bytes = int(max_mb * 1_000_000)
        self._timeout = timeout
        self._written = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._broken(error) from error
        with self._connection() as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(_TABLE)

    def get(self, key: str) -> Reply | None:
        """The reply, None if there is none; a damaged one is deleted and counts as absent."""
        with self._connection() as connection:
            found = connection.execute(
                "SELECT asked, reply, crc FROM replies WHERE key = ?", (key,)
            ).fetchone()
            if found is None:
                return None
            if _checksum(key, found[0], found[1]) != found[2]:
                connection.execute("DELETE FROM replies WHERE key = ?", (key,))
                return None
            connection.execute("UPDATE replies SET used = ? WHERE key = ?", (time.time(), key))
        return decode(Reply, orjson.loads(found[1]))

    def put(self, key: str, model: str, asked: Mapping[str, Any], reply: Reply, *, replace: bool) -> Reply:
        """Store a reply.

        Args:
            key: ``key_of(asked)``.
            model: For statistics.
            asked: Model identity and request.
            reply: As generated.
            replace: Whether a reply that is there gives way (``refresh``).

        Returns:
            The reply that is stored: the first one, if another process was faster.
        """
        question, answer, now = encode(dict(asked)), encode(reply), time.time()
        row = (key, model, question, answer, _checksum(key, question, answer))
        verb = "REPLACE" if replace else "IGNORE"
        with self._connection() as connection:
            size = len(question) + len(answer)
            connection.execute(
                f"INSERT OR {verb} INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, size, now, now)
            )
            (stored,) = connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        self._written += 1
        if self._written % _CHECK_EVERY == 0:
            self.prune(max_bytes=self.max_bytes)
        return decode(Reply, orjson.loads(stored))

    def stats(self) -> CacheStats:
        """Entries and bytes, by model."""
        with self._connection() as connection:
            query = "SELECT model, COUNT(*), SUM(bytes) FROM replies GROUP BY model ORDER BY model"
            by = {model: (int(n), int(size)) for model, n, size in connection.execute(query)}
        return CacheStats(sum(n for n, _ in by.values()), sum(size for _, size in by.values()), by)

    def prune(
        self, max_bytes: int | None = None, older_than_s: float | None = None, model: str | None = None
    ) -> int:
        """Delete the entries of a model, those not used for a time, and the least recently used over a size.

        Returns:
            Entries deleted.
        """
        deleted = 0
        with self._connection() as connection:
            if model is not None:
                deleted += connection.execute("DELETE FROM replies WHERE model = ?", (model,)).rowcount
            if older_than_s is not None:
                limit = time.time() - older_than_s
                deleted += connection.execute("DELETE FROM replies WHERE used < ?", (limit,)).rowcount
            if max_bytes is not None:
                query = """DELETE FROM replies WHERE key IN (SELECT key FROM (SELECT key, SUM(bytes) OVER
                    (ORDER BY used DESC, key) AS total FROM replies) WHERE total > ?)"""
                deleted += connection.execute(query, (max_bytes,)).rowcount
        return deleted

    def verify(self) -> list[str]:
        """One line for each entry that is damaged, or that is not stored under the key of its request."""
        problems = []
        with self._connection() as connection:
            for key, asked, reply, crc in connection.execute("SELECT key, asked, reply, crc FROM replies"):
                if _checksum(key, asked, reply) != crc:
                    problems.append(f"{key}: checksum differs")
                elif hashlib.sha256(asked).hexdigest()[:KEY_LENGTH] != key:
                    problems.append(f"{key}: is not the key of its request")
        return problems

    def _connection(self) -> AbstractContextManager[sqlite3.Connection]:
        return connected(self.path, self._timeout, self._broken)

    def _broken(self, error: Exception) -> StoreError:
        return StoreError(
            f"reply cache {self.path}: {error}; stop other writers, check disk and permissions, or move the "
            f"file with its -wal and -shm away (replies are asked for, and paid, again)"
        )


def _checksum(key: str, asked: bytes, reply: bytes) -> int:
    # The key is part of it: an entry that moved to another key is damage too.
    return zlib.crc32(reply, zlib.crc32(asked, zlib.crc32(key.encode())))

"""Scores on disk, by content: SQLite, safe with several processes, every value with its checksum."""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from faultline.database import connected
from faultline.errors import StoreError

FloatRow = npt.NDArray[np.float32]
FILE = "scores.sqlite"

_TABLE = """CREATE TABLE IF NOT EXISTS scores (
    namespace TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, crc INTEGER NOT NULL,
    written REAL NOT NULL DEFAULT 0, PRIMARY KEY (namespace, key)) WITHOUT ROWID"""
_SIZE = "length(namespace) + length(key) + length(value) + 16"
_KEYS_A_QUERY = 500
_CHECK_EVERY = 200
_KEPT = 0.9
"""Part of the bound that an automatic clean-up leaves, so that it is not needed again at once."""


@dataclass(frozen=True, slots=True)
class ScoreStats:
    """What a cache holds: (entries, bytes) by kind, weights and precision; bytes are those of the entries."""

    entries: int
    bytes: int
    by_model: Mapping[str, tuple[int, int]]


def namespace(kind: str, digest: str, precision: str, plan_id: str) -> str:
    """What a score depends on besides its input.

    Args:
        kind: ``nli`` or ``embed``.
        digest: Of the weights.
        precision: With the kind of device (``fp32@cpu``).
        plan_id: Of the batch plan, which fixes the last bits.
    """
    return "/".join((kind, digest, precision, plan_id))


class ScoreCache:
    """Float32 rows by (namespace, key).

    A connection is opened for each call, so an instance may be shared by threads, forked and pickled.

    Attributes:
        path: The database file; use a local disk (SQLite's WAL does not work over network file systems).
        dropped: Entries of this instance whose checksum failed; they were deleted and count as absent.
    """

    def __init__(self, path: str | Path, timeout: float = 60.0, max_mb: float = 4096.0) -> None:
        """Open or create the database.

        Args:
            path: The database file; its folder is made.
            timeout: Seconds to wait for another process that writes.
            max_mb: Entries that were written first go when the database takes more.

        Raises:
            StoreError: The file is not a usable database.
        """
        self.path = Path(path)
        self.dropped = 0
        self.max_bytes = int(max_mb * 1_000_000)
        self._timeout = timeout
        self._puts = 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._broken(error) from error
        with self._connection() as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(_TABLE)
            # A database of an earlier version has no such column; one process at a time may add it.
            connection.execute("BEGIN IMMEDIATE")
            if "written" not in {column[1] for column in connection.execute("PRAGMA table_info(scores)")}:
                connection.execute("ALTER TABLE scores ADD COLUMN written REAL NOT NULL DEFAULT 0")

    def get_many(self, namespace: str, keys: Sequence[str]) -> dict[str, FloatRow]:
        """The rows that are there, by key; a damaged one is deleted and left out.

        Raises:
            StoreError: The database cannot be read.
        """
        found: dict[str, FloatRow] = {}
        damaged = []
        with self._connection() as connection:
            for start in range(0, len(keys), _KEYS_A_QUERY):
                part = keys[start : start + _KEYS_A_QUERY]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, value, crc FROM scores WHERE namespace = ? AND key IN ({marks})"
                for key, value, crc in connection.execute(query, (namespace, *part)):
                    if _intact(namespace, key, value, crc):
                        found[key] = np.frombuffer(value, dtype="<f4")
                    else:
                        damaged.append((namespace, key))
            if damaged:
                connection.executemany("DELETE FROM scores WHERE namespace = ? AND key = ?", damaged)
                self.dropped += len(damaged)
        return found

    def put_many(self, namespace: str, rows: Mapping[str, FloatRow]) -> None:
        """Store rows in one transaction: all of them or none.

        Raises:
            StoreError: The database cannot be written.
        """
        entries = []
        now = time.time()
        for key, row in rows.items():
            value = np.ascontiguousarray(row, dtype="<f4").tobytes()
            entries.append((namespace, key, value, _checksum(namespace, key, value), now))
        query = "INSERT OR REPLACE INTO scores (namespace, key, value, crc, written) VALUES (?, ?, ?, ?, ?)"
        with self._connection() as connection:
            connection.executemany(query, entries)
        self._puts += 1
        if self._puts % _CHECK_EVERY == 0 and self._used() > self.max_bytes:
            self.prune(max_bytes=int(_KEPT * self.max_bytes))

    def stats(self) -> ScoreStats:
        """Entries and bytes, by kind, weights and precision."""
        by: dict[str, tuple[int, int]] = {}
        query = f"SELECT namespace, COUNT(*), SUM({_SIZE}) FROM scores GROUP BY namespace ORDER BY namespace"
        with self._connection() as connection:
            for name, entries, size in connection.execute(query):
                model = _model(name)
                before = by.get(model, (0, 0))
                by[model] = (before[0] + int(entries), before[1] + int(size))
        return ScoreStats(sum(n for n, _ in by.values()), sum(size for _, size in by.values()), by)

    def prune(
        self, max_bytes: int | None = None, older_than_s: float | None = None, digest: str | None = None
    ) -> int:
        """Delete the entries of some weights, those written long ago, and the oldest over a size.

        Args:
            max_bytes: Of the entries that stay, as :meth:`stats` counts them.
            older_than_s: Seconds.
            digest: Of weights, or how it begins.

        Returns:
            Entries deleted.
        """
        deleted = 0
        with self._connection() as connection:
            if digest is not None:
                names = [name for (name,) in connection.execute("SELECT DISTINCT namespace FROM scores")]
                of_it = [(name,) for name in names if _digest(name, digest)]
                deleted += connection.executemany("DELETE FROM scores WHERE namespace = ?", of_it).rowcount
            if older_than_s is not None:
                limit = time.time() - older_than_s
                deleted += connection.execute("DELETE FROM scores WHERE written < ?", (limit,)).rowcount
            if max_bytes is not None:
                query = f"""DELETE FROM scores WHERE (namespace, key) IN (SELECT namespace, key FROM
                    (SELECT namespace, key, SUM({_SIZE}) OVER (ORDER BY written DESC, namespace, key) AS total
                    FROM scores) WHERE total > ?)"""
                deleted += connection.execute(query, (max_bytes,)).rowcount
        return max(deleted, 0)

    def compact(self) -> None:
        """Give the space of deleted entries back to the disk."""
        with self._connection() as connection:
            connection.execute("VACUUM")

    def verify(self) -> list[str]:
        """One line for each damaged entry; nothing is deleted."""
        with self._connection() as connection:
            found = connection.execute("SELECT namespace, key, value, crc FROM scores")
            return [
                f"{_model(space)} {key}: checksum differs"
                for space, key, *rest in found
                if not _intact(space, key, *rest)
            ]

    def _used(self) -> int:
        with self._connection() as connection:
            pages, free, size = (
                int(connection.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("page_count", "freelist_count", "page_size")
            )
        return (pages - free) * size

    def _connection(self) -> AbstractContextManager[sqlite3.Connection]:
        return connected(self.path, self._timeout, self._broken)

    def _broken(self, error: Exception) -> StoreError:
        return StoreError(
            f"score cache {self.path}: {error}; stop other writers, check disk and permissions, or delete "
            f"the file with its -wal and -shm (scores are computed again)"
        )


def _model(namespace: str) -> str:
    """Kind, first digits of the digest, and precision."""
    kind, *rest = namespace.split("/")
    return "/".join([kind, *(part[:12] for part in rest[:1]), *rest[1:2]])


def _digest(namespace: str, start: str) -> bool:
    return bool(start) and [*namespace.split("/"), ""][1].startswith(start)


def _checksum(namespace: str, key: str, value: bytes) -> int:
    # The name is part of it: a value that moved to another key is damage too.
    return zlib.crc32(value, zlib.crc32(f"{namespace}\x1f{key}".encode()))


def _intact(namespace: str, key: str, value: object, crc: object) -> bool:
    return isinstance(value, bytes) and len(value) % 4 == 0 and _checksum(namespace, key, value) == crc

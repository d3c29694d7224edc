"""Scores on disk, by content: SQLite, safe with several processes, every value with its checksum."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from faultline.database import connected
from faultline.errors import StoreError

FloatRow = npt.NDArray[np.float32]

_TABLE = """CREATE TABLE IF NOT EXISTS scores (
    namespace TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (namespace, key)) WITHOUT ROWID"""
_KEYS_A_QUERY = 500


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

    def __init__(self, path: str | Path, timeout: float = 60.0) -> None:
        """Open or create the database.

        Args:
            path: The database file; its folder is made.
            timeout: Seconds to wait for another process that writes.

        Raises:
            StoreError: The file is not a usable database.
        """
        self.path = Path(path)
        self.dropped = 0
        self._timeout = timeout
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._broken(error) from error
        with self._connection() as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(_TABLE)

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
        for key, row in rows.items():
            value = np.ascontiguousarray(row, dtype="<f4").tobytes()
            entries.append((namespace, key, value, _checksum(namespace, key, value)))
        with self._connection() as connection:
            connection.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?)", entries)

    def _connection(self) -> AbstractContextManager[sqlite3.Connection]:
        return connected(self.path, self._timeout, self._broken)

    def _broken(self, error: Exception) -> StoreError:
        return StoreError(
            f"score cache {self.path}: {error}; stop other writers, check disk and permissions, or delete "
            f"the file with its -wal and -shm (scores are computed again)"
        )


def _checksum(namespace: str, key: str, value: bytes) -> int:
    # The name is part of it: a value that moved to another key is damage too.
    return zlib.crc32(value, zlib.crc32(f"{namespace}\x1f{key}".encode()))


def _intact(namespace: str, key: str, value: object, crc: object) -> bool:
    return isinstance(value, bytes) and len(value) % 4 == 0 and _checksum(namespace, key, value) == crc

"""SQLite files that several processes share."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from faultline.errors import StoreError


@contextmanager
def connected(
    path: Path, timeout: float, broken: Callable[[Exception], StoreError]
) -> Iterator[sqlite3.Connection]:
    """One transaction on a database in WAL mode.

    Args:
        path: The file.
        timeout: Seconds to wait for another writer.
        broken: The error to raise for what SQLite says; it names the file and the remedy.

    Raises:
        StoreError: What ``broken`` gives, if the file cannot be used.
    """
    try:
        with closing(sqlite3.connect(path, timeout=timeout)) as connection:
            connection.execute("PRAGMA synchronous=NORMAL")
            with connection:
                yield connection
    except sqlite3.Error as error:
        raise broken(error) from error

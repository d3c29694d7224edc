"""Append-only stores: one JSON line a record, finished records only, safe against kill and against company.

A line is ``crc32 <space> json``. A torn last line (the process died while writing) is cut off on the next
write and never read; a broken line in the middle is an error that names the line.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import zlib
from collections.abc import Collection, Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Any

import orjson

from faultline.codec import encode
from faultline.errors import StoreError


class AppendStore:
    """Records by id in one file.

    Args:
        path: The file; its folder is made on the first write.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._end = 0
        self._known: set[str] | None = None

    def ids(self) -> set[str]:
        """Ids of all finished records."""
        return set(self._names())

    def read(self) -> dict[str, Any]:
        """All finished records, by id, in the order in which they were written.

        Raises:
            StoreError: A line that is not the last is broken.
        """
        records = dict(self._lines())
        # Another process may have written since: what is known must go with where the file ends.
        self._known = set(records)
        return records

    def append(self, records: Sequence[tuple[str, Any]]) -> None:
        """Write finished records and wait until the disk has them.

        Raises:
            StoreError: An id is there already, or the disk is full (the file is left as it was).
        """
        known = self._names()
        names = [name for name, _ in records]
        twice = next((name for i, name in enumerate(names) if name in known or name in names[:i]), None)
        if twice is not None:
            raise StoreError(f"{self.path}: record {twice!r} written twice")
        block = b"".join(_line({"id": name, "record": record}) for name, record in records)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: a buffer that did not fit would be written again when the file is closed.
            with self.path.open("ab", buffering=0) as stream:
                stream.truncate(self._end)
                write_or_restore(stream, self._end, block, self.path)
        except OSError as error:
            raise disk_error(error, self.path) from error
        known.update(name for name, _ in records)
        self._end += len(block)

    def drop(self, names: Collection[str]) -> None:
        """Take records out, so that they can be made anew; the file is replaced as a whole or not at all."""
        if not self._names() & set(names):
            return
        kept = [(name, record) for name, record in self._lines() if name not in names]
        block = b"".join(_line({"id": name, "record": record}) for name, record in kept)
        write_file(self.path, block)
        self._known, self._end = {name for name, _ in kept}, len(block)

    def _names(self) -> set[str]:
        if self._known is None:
            self._known = {name for name, _ in self._lines()}
        return self._known

    def _lines(self) -> Iterator[tuple[str, Any]]:
        if not self.path.exists():
            self._end = 0
            return
        data = self.path.read_bytes()
        position, number = 0, 0
        while position < len(data):
            number += 1
            stop = data.find(b"\n", position)
            entry = _parse(data[position:stop]) if stop >= 0 else None
            if entry is None:
                if 0 <= stop < len(data) - 1:
                    raise StoreError(
                        f"{self.path}: line {number} is damaged; delete the file to generate it again"
                    )
                break
            yield entry["id"], entry["record"]
            position = stop + 1
        self._end = position


def write_or_restore(stream: FileIO, end: int, block: bytes, path: Path) -> None:
    """Write a block at the end of an unbuffered file and sync it, or cut the file back to ``end``.

    Raises:
        StoreError: The disk is full.
    """
    rest = memoryview(block)
    try:
        while rest:
            rest = rest[stream.write(rest) :]
        os.fsync(stream.fileno())
    except OSError as error:
        with contextlib.suppress(OSError):
            os.ftruncate(stream.fileno(), end)
        raise disk_error(error, path) from error


def disk_error(error: OSError, path: Path) -> StoreError:
    """The one-line error for a failed write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(
            f"{path}: the disk is full; free some space and repeat the command, finished work is kept"
        )
    return StoreError(f"{path}: cannot be written ({error.strerror}); repeat the command when it can")


def write_file(path: Path, data: bytes) -> None:
    """Replace a file at once: readers see the old bytes or the new ones, never a part.

    Raises:
        StoreError: The disk is full.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise disk_error(error, path) from error


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold a lock file; a second process waits here until the first is done or dead.

    Raises:
        StoreError: The lock file cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a")
    except OSError as error:
        raise disk_error(error, path) from error
    with stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(stream, fcntl.LOCK_UN)


def _line(entry: Any) -> bytes:
    body = encode(entry)
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        crc, body = int(line[:8], 16), line[9:]
        if zlib.crc32(body) != crc:
            return None
        entry: dict[str, Any] = orjson.loads(body)
    except ValueError:
        return None
    return entry

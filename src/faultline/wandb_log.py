"""W&B's offline file: a log of protobuf records in LevelDB's block format, read, and moved with its run.

W&B notes the absolute path of every table that it staged for upload, so a run directory that was moved would
upload its numbers and lose its tables. :func:`relocate` writes the paths anew, for where the run is now.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any

from faultline.errors import StoreError
from faultline.store import write_file

BLOCK = 32 * 1024
_START = struct.pack("<4sHB", b":W&B", 0xBEE1, 0)
_HEADER = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
STAGING = PurePath("wandb", "data", "artifacts", "staging")
"""Where :mod:`faultline.tracking` has W&B stage its tables, inside the run directory."""


def logs(run_dir: Path) -> list[Path]:
    """The offline logs of a run directory, oldest first."""
    return sorted((run_dir / "wandb").glob("offline-run-*/run-*.wandb"))


def records(path: Path) -> list[Any]:
    """The records of a log, as ``wandb.proto`` defines them.

    Raises:
        StoreError: The file is no such log, or is damaged.
    """
    from wandb.proto import wandb_internal_pb2 as proto

    found = []
    for raw in _payloads(path):
        record = proto.Record()  # type: ignore[attr-defined]
        record.ParseFromString(raw)
        found.append(record)
    return found


def relocate(run_dir: Path) -> int:
    """Point the staged tables of a run's logs to where the run directory is now.

    Returns:
        Paths that changed; a log without any is left as it is, byte for byte.

    Raises:
        StoreError: A staged table is not in the run directory any more.
    """
    changed = 0
    for path in logs(run_dir):
        found, here = records(path), 0
        for record in found:
            if record.WhichOneof("record_type") != "artifact":
                continue
            for entry in record.artifact.manifest.contents:
                place = (run_dir.absolute() / STAGING / PurePath(entry.local_path).name).as_posix()
                if not Path(place).is_file():
                    raise StoreError(
                        f"{path}: its table {entry.path} is not in {run_dir / STAGING}; "
                        f"move the whole run directory, or run again with overwrite=always"
                    )
                here += place != entry.local_path
                entry.local_path = place
        if here:
            write_file(path, b"".join(_written(record.SerializeToString() for record in found)))
        changed += here
    return changed


def _payloads(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    if not data.startswith(_START):
        raise StoreError(f"{path}: is no W&B log; run again with overwrite=always")
    position, parts = len(_START), b""
    while position < len(data):
        left = BLOCK - position % BLOCK
        if left < _HEADER.size:  # too little for a header: the rest of the block is padding
            position += left
            continue
        checksum, length, kind = _HEADER.unpack_from(data.ljust(position + _HEADER.size, b"\0"), position)
        part = data[position + _HEADER.size : position + _HEADER.size + length]
        if kind not in (_FULL, _FIRST, _MIDDLE, _LAST) or _checksum(kind, part) != checksum:
            raise StoreError(f"{path}: damaged at byte {position}; run again with overwrite=always")
        parts += part
        position += _HEADER.size + length
        if kind in (_FULL, _LAST):
            yield parts
            parts = b""


def _written(payloads: Iterable[bytes]) -> Iterator[bytes]:
    yield _START
    position = len(_START)
    for payload in payloads:
        rest, first = payload, True
        while first or rest:
            left = BLOCK - position % BLOCK
            if left < _HEADER.size:
                yield b"\0" * left
                position += left
                continue
            part, rest = rest[: left - _HEADER.size], rest[left - _HEADER.size :]
            kind = (_MIDDLE if rest else _LAST) if not first else (_FIRST if rest else _FULL)
            first = False
            yield _HEADER.pack(_checksum(kind, part), len(part), kind) + part
            position += _HEADER.size + len(part)


def _checksum(kind: int, part: bytes) -> int:
    return zlib.crc32(part, zlib.crc32(bytes((kind,))))

"""Reading data files in the formats they are published in."""

from __future__ import annotations

import bz2
import gzip
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from faultline.errors import DataError

DATA_DIR = "FAULTLINE_DATA_DIR"


def data_dir(explicit: str | Path | None = None) -> Path | None:
    """The folder of the data sets: the argument, else the environment's ``FAULTLINE_DATA_DIR``, else None.

    Raises:
        DataError: It is named, but not there.
    """
    named = explicit or os.environ.get(DATA_DIR)
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise DataError(f"{DATA_DIR}={folder}: no such folder; point it at the folder of the data sets")
    return folder


def read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a JSON array or a JSON Lines file (whatever its name says), packed or not.

    Yields:
        Where the record stands (``file.json record 3``, counted from 1) and the record.

    Raises:
        DataError: The file is missing, is not JSON, or holds something other than objects.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file; check the path, or {DATA_DIR}")
    text = _unpacked(path).removeprefix(b"\xef\xbb\xbf")  # some editors write a byte order mark
    if text.lstrip()[:1] == b"[":
        yield from _array(path, text)
    else:
        yield from _lines(path, text)


def read_dataset(
    files: Sequence[str], folder: str | Path | None, inside: str, label: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a data set's files, relative names under ``<data folder>/<inside>``.

    Args:
        files: Relative or absolute paths.
        folder: The data folder; default ``FAULTLINE_DATA_DIR``.
        inside: The data set's own folder in it.
        label: How the data set is chosen (``corpora=label``), for the message.

    Raises:
        DataError: A relative name, and no data folder; or what :func:`read_records` says.
    """
    root = data_dir(folder)
    for name in files:
        path = Path(name)
        if not path.is_absolute():
            if root is None:
                raise DataError(
                    f"corpora={label}: no data; set {DATA_DIR} to a folder that holds {inside}/, "
                    "or name corpora.files by absolute path, or use corpora=synthetic"
                )
            path = root / inside / name
        yield from read_records(path)


def field(record: Mapping[str, Any], name: str, kind: type | tuple[type, ...], where: str) -> Any:
    """A required field of a record.

    Raises:
        DataError: It is missing or of another type; the message names file, record and field.
    """
    if name not in record:
        raise DataError(f"{where}: field {name!r} is missing; repair or remove the record")
    value = record[name]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        expected = kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)
        raise DataError(
            f"{where}: field {name!r} is {type(value).__name__}, expected {expected}; repair the record"
        )
    return value


def _unpacked(path: Path) -> bytes:
    try:
        if path.suffix == ".gz":
            return gzip.decompress(path.read_bytes())
        if path.suffix == ".bz2":
            return bz2.decompress(path.read_bytes())
        return path.read_bytes()
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({error}); fetch the file again") from error


def _array(path: Path, text: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        records = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: not valid JSON ({error}); fetch the file again") from error
    for number, record in enumerate(records, start=1):
        yield _checked(record, f"{path.name} record {number}")


def _lines(path: Path, text: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{path.name} line {number}"
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise DataError(f"{where}: not valid JSON ({error}); repair or remove the line") from error
        yield _checked(record, where)


def _checked(record: Any, where: str) -> tuple[str, dict[str, Any]]:
    if not isinstance(record, dict):
        raise DataError(f"{where}: expected an object, found {type(record).__name__}; repair the record")
    return where, record

"""Searching every output for planted secrets, inside what is compressed too."""

from __future__ import annotations

import base64
import io
import sqlite3
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq


def leaks(root: Path, secrets: Iterable[str]) -> list[str]:
    """``file: secret`` for each file below a folder that holds a secret: plain, percent-encoded or in base64.

    Files and their names are searched as bytes; Parquet, SQLite and zip files also by what they hold. Secrets
    are to be long (16 characters): short ones are in any base64.
    """
    found = []
    for path in sorted(p for p in root.rglob("*") if p.is_file() or p.is_symlink()):
        name = str(path.relative_to(root))
        texts = [name.encode(), *(_contents(path.read_bytes(), path.suffix) if path.is_file() else ())]
        held = (s for s in secrets if any(form in text for text in texts for form in _forms(s)))
        found += [f"{name}: {secret}" for secret in held]
    return found


def _forms(secret: str) -> tuple[bytes, ...]:
    # Base64 of a text inside a longer one depends on where it starts: the part that does not, at each offset.
    coded = (base64.b64encode(b"\0" * lead + secret.encode()) for lead in range(3))
    parts = tuple(code[4 if lead else 0 : len(code) // 4 * 4 - 4] for lead, code in enumerate(coded))
    return secret.encode(), quote(secret, safe="").encode(), *parts


def _contents(data: bytes, suffix: str) -> Iterator[bytes]:
    yield data
    if suffix == ".parquet":
        table = pq.read_table(io.BytesIO(data))
        yield repr(table.to_pydict()).encode()
        yield repr(table.schema.metadata).encode()
    elif suffix in (".zip", ".eval"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.namelist():
                yield member.encode()
                yield from _contents(archive.read(member), Path(member).suffix)
    elif suffix == ".sqlite":
        yield from _database(data)


def _database(data: bytes) -> Iterator[bytes]:
    connection = sqlite3.connect(":memory:")
    # Without the mark of a write-ahead log, which no database in memory has; the log is a file of its own.
    connection.deserialize(data[:18] + b"\1\1" + data[20:])
    tables = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
    for table in tables:
        for row in connection.execute(f'select * from "{table}"'):
            yield b"\n".join(v if isinstance(v, bytes) else str(v).encode() for v in row)
    connection.close()

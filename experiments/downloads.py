"""Downloading one pinned file: resumed, checked by content, and never over a good file."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from faultline.errors import ConfigError, DataError

BASE_URL = "https://raw.githubusercontent.com"
ATTEMPTS = 3
CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Source:
    """A file of a data set, and where it comes from.

    Attributes:
        file: Path under the data folder; a name that ends in ``.gz`` is packed after download.
        repo: ``owner/name``.
        commit: 40 hex digits.
        path: In the repository.
        size: Bytes of the unpacked content.
        sha256: Of the unpacked content.
        make: How the content is made from the download; empty for a byte-exact copy.
    """

    file: str
    repo: str
    commit: str
    path: str
    size: int
    sha256: str
    make: str = ""

    def url(self, base: str) -> str:
        """Where the file is served at its commit."""
        return f"{base.rstrip('/')}/{self.repo}/{self.commit}/{urllib.parse.quote(self.path)}"


def records(blob: bytes) -> bytes:
    """A column-oriented dump as a JSON array of records; ``_1`` is named ``_id``, row numbers are dropped."""
    columns: Mapping[str, Mapping[str, Any]] = json.loads(blob)
    named = {("_id" if name == "_1" else name): column for name, column in columns.items() if name != "id"}
    rows = list(next(iter(named.values())))
    table = [{name: column[row] for name, column in named.items()} for row in rows]
    return (json.dumps(table, ensure_ascii=False) + "\n").encode()


def lines_with_context(blob: bytes) -> bytes:
    """The JSON lines that have a ``context``, bytes and order kept."""
    return b"".join(line for line in blob.splitlines(keepends=True) if "context" in json.loads(line))


MAKERS: Mapping[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "records": records,
    "lines_with_context": lines_with_context,
}


def catalogue(folder: Path) -> dict[str, Path]:
    """Data set name to its file of sources, in ``experiments/sources``."""
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def read_sources(path: Path) -> list[Source]:
    """The files of a data set.

    Raises:
        ConfigError: A field is missing or wrong; file, entry and field are named.
    """
    content = yaml.safe_load(path.read_text())
    out = []
    for i, entry in enumerate(content["files"]):
        try:
            values = {**entry, "size": entry["bytes"]}
            del values["bytes"]
            source = Source(**values)
        except (KeyError, TypeError) as error:
            raise ConfigError(f"{path}: files[{i}]: {error}") from error
        if len(source.sha256) != 64 or len(source.commit) != 40 or source.make not in MAKERS:
            raise ConfigError(
                f"{path}: files[{i}]: sha256, commit or make of {source.file} is not as documented"
            )
        out.append(source)
    return out


def is_good(path: Path, source: Source) -> bool:
    """Whether a file is there with the pinned content."""
    if not path.is_file():
        return False
    try:
        return hashlib.sha256(_unpacked(path)).hexdigest() == source.sha256
    except (OSError, EOFError):
        return False


def fetch(source: Source, folder: Path, base: str = BASE_URL, replace: bool = False) -> bool:
    """Make one file be there.

    Args:
        source: What and from where.
        folder: The data folder.
        base: Server, for mirrors.
        replace: Whether a file with another content may be replaced.

    Returns:
        False if a good file was there already and nothing was done.

    Raises:
        DataError: The file is there with another content, cannot be had, or is not what is pinned.
    """
    path = folder / source.file
    if is_good(path, source):
        return False
    if path.exists() and not replace:
        raise DataError(f"{path}: there, with another content than pinned; move it away or give --replace")
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _room(path.parent, source)
        content = _content(source, part, source.url(base))
        whole = path.with_name(path.name + ".tmp")
        whole.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DataError(f"{path}: no space left on the disk; free some and repeat, it resumes") from error
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error
    whole.replace(path)
    part.unlink(missing_ok=True)
    return True


def _content(source: Source, part: Path, url: str) -> bytes:
    """The pinned content; a part of another origin is thrown away once and the download repeated."""
    stale = part.exists()
    try:
        return _made(source, _download(source, part, url), part)
    except _WrongContentError:
        if not stale:
            raise
    return _made(source, _download(source, part, url), part)


class _WrongContentError(DataError):
    """What was downloaded is not what is pinned."""


def _made(source: Source, blob: bytes, part: Path) -> bytes:
    try:
        content = MAKERS[source.make](blob)
    except (ValueError, KeyError, AttributeError, StopIteration):
        content = b""
    found = hashlib.sha256(content).hexdigest()
    if found != source.sha256:
        part.unlink(missing_ok=True)
        short = f"{found[:12]} ({len(content)} bytes), pinned {source.sha256[:12]} ({source.size} bytes)"
        raise _WrongContentError(
            f"{source.file}: sha256 is {short}; the server does not hold the pinned revision"
        )
    return content


def _download(source: Source, part: Path, url: str) -> bytes:
    """The whole body, going on from what an earlier attempt left."""
    reason = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(0.2 * attempt)
        try:
            if _attempt(part, url):
                return part.read_bytes()
            reason = "the body ended early"
        except urllib.error.HTTPError as error:
            if error.code == 416:
                part.unlink(missing_ok=True)
                reason = "the part could not be resumed"
                continue
            reason = f"HTTP {error.code} {' '.join(str(error.reason).split())[:60]}"
            if error.code < 500:
                break
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            reason = str(getattr(error, "reason", error))
    raise DataError(f"{source.file}: {url}: {reason}; check the network and repeat, finished parts are kept")


def _attempt(part: Path, url: str) -> bool:
    """One request; whether everything that the server announced has arrived."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    with urllib.request.urlopen(request, timeout=60) as reply:
        resumed = reply.status == 206 and have > 0
        start = have if resumed else 0
        announced = reply.headers.get("Content-Length")
        with part.open("ab" if resumed else "wb") as out:
            _copy(reply, out)
        return announced is None or part.stat().st_size == start + int(announced)


def _copy(reply: Any, out: BinaryIO) -> None:
    while chunk := reply.read(CHUNK):
        out.write(chunk)


def _room(folder: Path, source: Source) -> None:
    free = shutil.disk_usage(folder).free
    if free < 2 * source.size:
        raise DataError(
            f"{folder}: {free} bytes free, {source.file} needs {2 * source.size}; free some space"
        )


def _unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data

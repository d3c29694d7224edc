"""An append-only audit log: JSON Lines, each record chained to the one before by its hash.

A line's ``hash`` covers everything in it, and ``prev`` is the hash of the line before: an edit, a deletion,
an insertion and a reordering all break the chain. A chain cannot see that its own end was cut off, so the
number of records and the last hash stand in a file beside it (``<log>.head``). Whoever can write both files
can forge both; with a key (a secret of the verifier's) the hashes are HMACs and cannot be forged without it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from faultline.codec import encode
from faultline.errors import DataError, StoreError
from faultline.store import disk_error, exclusive, write_or_restore

START = "0" * 64
"""``prev`` of the first record."""

FORMAT = 1
KEY_VARIABLE = "FAULTLINE_AUDIT_KEY"
"""Environment variable of the optional HMAC key; its value is never written anywhere."""

NIST: Mapping[str, tuple[tuple[str, ...], str]] = {
    "sfv": (("MEASURE",), "Confabulation / Hallucination"),
    "csct": (("MEASURE", "MANAGE"), "Data quality and integrity"),
    "cpm": (("MEASURE",), "Uncertainty quantification"),
    "crt": (("GOVERN", "MANAGE"), "Human oversight and intervention"),
}
"""Paper 1, Table VIII: component to (functions of the NIST AI RMF, risk of NIST AI 600-1)."""


class AuditLog:
    """Appends records; safe with several threads and processes.

    Args:
        path: The log.
        texts: Keep texts (claims, passages) in the records. Otherwise only their sha256 and length.
        key: HMAC key; default the environment's, if any.
        durable: Wait until the disk has each record.
    """

    def __init__(
        self, path: str | Path, *, texts: bool = False, key: bytes | None = None, durable: bool = True
    ) -> None:
        self.path = Path(path)
        self.texts = texts
        self._key = key if key is not None else environment_key()
        self._durable = durable
        self._lock = threading.Lock()

    def append(self, event: str, fields: Mapping[str, Any], texts: Mapping[str, str] | None = None) -> str:
        """Write one record; returns its hash.

        Args:
            event: What happened (``verdict``, ``failure``, ``human``, ``mitigation``, ...).
            fields: JSON values.
            texts: Texts that the record is about, kept as hashes unless the log keeps texts.

        Raises:
            StoreError: The log cannot be written, or its end is damaged (nothing is appended to that).
            DataError: A field that JSON cannot hold.
        """
        body = {"event": event, **fields, "texts": {k: self._text(v) for k, v in (texts or {}).items()}}
        with self._lock, exclusive(self.path.with_name(self.path.name + ".lock")):
            count, last = self._head()
            record = {**body, "format": FORMAT, "seq": count + 1, "time": time.time(), "prev": last}
            record["hash"] = digest(record, self._key)
            line = encode(record) + b"\n"
            try:
                with self.path.open("ab", buffering=0) as stream:
                    if self._durable:
                        write_or_restore(stream, stream.tell(), line, self.path)
                    else:
                        stream.write(line)
            except OSError as error:
                raise disk_error(error, self.path) from error
            self._write_head(count + 1, str(record["hash"]))
        return str(record["hash"])

    def _text(self, text: str) -> dict[str, Any]:
        # A lone surrogate (a broken document) is no UTF-8; the hash is of what came.
        raw = text.encode(errors="surrogatepass")
        kept = {"text": raw.decode(errors="replace")} if self.texts else {}
        return {"sha256": hashlib.sha256(raw).hexdigest(), "chars": len(text), **kept}

    def _head(self) -> tuple[int, str]:
        if not self.path.exists() or self.path.stat().st_size == 0:
            return 0, START
        record = last_record(self.path)
        return int(record["seq"]), str(record["hash"])

    def _write_head(self, count: int, last: str) -> None:
        # A fixed width, written in place: a head that lags by a killed process is told from a cut log.
        try:
            head = os.open(head_path(self.path), os.O_WRONLY | os.O_CREAT, 0o644)
            try:
                os.pwrite(head, f"{count:016d} {last}\n".encode("ascii"), 0)
            finally:
                os.close(head)
        except OSError as error:
            raise disk_error(error, head_path(self.path)) from error


def environment_key() -> bytes | None:
    """The HMAC key of the environment, None without one."""
    value = os.environ.get(KEY_VARIABLE)
    return value.encode() if value else None


def head_path(log: Path) -> Path:
    """Where the number of records and the last hash stand."""
    return log.with_name(log.name + ".head")


def digest(record: Mapping[str, Any], key: bytes | None = None) -> str:
    """Hash of a record without its own ``hash``: sha256, or HMAC-SHA256 with a key."""
    body = encode({name: value for name, value in record.items() if name != "hash"})
    return hmac.new(key, body, hashlib.sha256).hexdigest() if key else hashlib.sha256(body).hexdigest()


def last_record(path: Path) -> dict[str, Any]:
    """The last record of a log.

    Raises:
        StoreError: The last line is not a whole record.
    """
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        block = 4096
        while True:
            stream.seek(max(0, size - block))
            data = stream.read()
            lines = data.split(b"\n")
            if len(lines) > 2 or block >= size:
                break
            block *= 4
    try:
        if lines[-1]:
            raise ValueError("torn")
        record: dict[str, Any] = orjson.loads(lines[-2])
        int(record["seq"]), str(record["hash"])
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise StoreError(
            f"{path}: the last line is no whole record; check it with python -m experiments.audit verify, "
            "then move the file away to begin a new log"
        ) from error
    return record


def verify(path: str | Path, key: bytes | None = None) -> tuple[int, list[str]]:
    """Check a log.

    Args:
        path: The log.
        key: Of a log that was written with one.

    Returns:
        The number of records, and one sentence a problem, each with its line; empty if the log is whole.

    Raises:
        DataError: There is no such file.
    """
    log = Path(path)
    if not log.is_file():
        raise DataError(f"{log}: no such file; give the path of an audit log")
    problems: list[str] = []
    previous, count = START, 0
    raw = log.read_bytes()
    lines = raw.split(b"\n")
    if raw and lines[-1]:
        problems.append(f"line {len(lines)}: no end of line, the record was cut off")
    for number, line in enumerate(lines[:-1], start=1):
        count += 1
        record, complaint = _record(line, key)
        if complaint:
            problems.append(f"line {number}: {complaint}")
        if record is None:
            previous = ""
            continue
        if record.get("seq") != number:
            problems.append(
                f"line {number}: says it is record {record.get('seq')}, some were moved or removed"
            )
        if previous and record.get("prev") != previous:
            problems.append(f"line {number}: does not follow the record before it")
        previous = str(record.get("hash"))
    return count, problems + _head_problems(log, count, previous)


def _record(line: bytes, key: bytes | None) -> tuple[dict[str, Any] | None, str]:
    try:
        record = orjson.loads(line)
        if not isinstance(record, dict):
            return None, "not a record"
        expected = digest(record, key)
    except (ValueError, DataError):
        return None, "not JSON"
    if not hmac.compare_digest(str(record.get("hash")), expected):
        return record, "its hash does not fit its content: edited, or another key"
    # JSON may be written in several ways; the log writes one, so anything else was touched.
    if encode(record) != line:
        return record, "not written as the log writes it"
    return record, ""


def _head_problems(log: Path, count: int, last: str) -> list[str]:
    head = head_path(log)
    try:
        told, _, said = head.read_text(encoding="ascii").strip().partition(" ")
        expected = int(told)
    except (OSError, ValueError):
        return [] if count == 0 else [f"{head.name}: missing or unreadable, so a cut-off end cannot be seen"]
    if expected > count:
        return [f"the end is missing: {count} records, {head.name} says {expected}"]
    if expected < count - 1:
        return [f"{count} records, but {head.name} says {expected}: added by something else"]
    if expected == count and said != last:
        return [f"the last record is not the one that {head.name} names"]
    return []

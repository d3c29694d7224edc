"""Inspect ``.eval`` logs: a zip with one JSON file a sample; members are Zstandard or deflate compressed."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from faultline.errors import DataError
from faultline.traces.steps import Step, Traces, content_text, mappings, parsed_json, passages

ZSTANDARD = 93
LIMIT = 256 * 1024 * 1024
"""Largest member in bytes, uncompressed: a larger one is refused before it is read."""


def read(path: Path, source: str) -> Traces:
    """One trajectory a sample and epoch.

    Raises:
        DataError: The file is no zip.
    """
    found = Traces()
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if m.filename.startswith("samples/")]
    except (zipfile.BadZipFile, OSError) as error:
        raise DataError(f"{path}: is no Inspect log ({type(error).__name__}); give a .eval file") from error
    for member in sorted(members, key=lambda m: m.filename):
        sample = _sample(path, member)
        if isinstance(sample, str):
            found.problem(member.filename, sample)
        else:
            _trajectory(sample, member.filename, found, source)
    if not members:
        found.problem(path.name, "holds no samples/")
    return found


def _sample(path: Path, member: zipfile.ZipInfo) -> Mapping[str, Any] | str:
    try:
        data = member_bytes(path, member)
    except (OSError, ValueError, zlib.error, pa.ArrowException) as error:
        return f"cannot be read ({type(error).__name__})"
    parsed = parsed_json(data.decode(errors="replace"))
    return parsed if isinstance(parsed, Mapping) else "is no JSON object"


def member_bytes(path: Path, member: zipfile.ZipInfo) -> bytes:
    """A member's content; Python's zipfile reads Zstandard only from 3.14 on.

    Raises:
        ValueError: Too large, damaged, or compressed in another way.
    """
    if member.file_size > LIMIT:
        raise ValueError("too large")
    if member.compress_type != ZSTANDARD:
        with zipfile.ZipFile(path) as archive:
            return archive.read(member)
    with path.open("rb") as stream:
        stream.seek(member.header_offset)
        header = stream.read(30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise ValueError("no local header")
        names, extra = struct.unpack("<HH", header[26:30])
        stream.seek(member.header_offset + 30 + names + extra)
        packed = stream.read(member.compress_size)
    data = pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read(LIMIT + 1)
    if len(data) != member.file_size or zlib.crc32(data) != member.CRC:
        raise ValueError("damaged")
    return bytes(data)


def _trajectory(sample: Mapping[str, Any], where: str, found: Traces, source: str) -> None:
    name = f"{sample.get('id')}/{sample.get('epoch', 1)}"
    attached = sample.get("attachments")
    attachments = attached if isinstance(attached, Mapping) else {}
    queries: dict[str, str] = {}
    steps: list[Step] = []
    backbone = "unknown"
    if not isinstance(sample.get("messages"), list):
        found.problem(where, "field messages: is no list")
        return
    for number, message in enumerate(mappings(sample["messages"]), start=1):
        role, at = message.get("role"), str(message.get("id") or f"{where}, message {number}")
        text = _attached(content_text(message.get("content")), attachments)
        if role == "assistant":
            backbone = str(message.get("model") or backbone)
            for call in mappings(message.get("tool_calls")):
                given = call.get("arguments")
                told = given.values() if isinstance(given, Mapping) else []
                queries[str(call.get("id"))] = " ".join(str(v) for v in told)
            steps.append(Step(at, False, text))
        elif role == "tool":
            query = queries.get(str(message.get("tool_call_id")), "")
            steps.append(Step(at, True, query=query, passages=passages(text)))
        elif role not in ("user", "system"):
            found.problem(at, f"field role: {role!r} is unknown")
    output = sample.get("output")
    answer = str(output.get("completion") or "") if isinstance(output, Mapping) else ""
    asked = sample.get("input")
    question = asked if isinstance(asked, str) else _last_user(asked)
    found.add(name, _attached(question, attachments), steps, answer or None, backbone, source)


def _last_user(messages: Any) -> str:
    users = [content_text(m.get("content")) for m in mappings(messages) if m.get("role") == "user"]
    return users[-1] if users else ""


def _attached(text: str, attachments: Mapping[str, Any]) -> str:
    """Long texts stand once among the attachments; ``attachment://<hash>`` points there, into this file."""
    if text.startswith("attachment://"):
        return str(attachments.get(text.removeprefix("attachment://"), text))
    return text

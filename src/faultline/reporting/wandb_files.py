"""Offline W&B runs read from their ``.wandb`` files: no server, no network.

The file is a log in LevelDB's format: a header of 7 bytes, then blocks of 32 KiB with records of
``crc32 (4), length (2), kind (1), data``; a record that does not fit is split (first, middle, last).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pandas as pd

from faultline.errors import ConfigError, StoreError

MAGIC = b":W&B"
BLOCK = 32 * 1024
_HEADER = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


@dataclass(frozen=True)
class OfflineRun:
    """What an offline run logged.

    Attributes:
        path: The ``.wandb`` file.
        finished: Whether the run said goodbye; a run that was killed did not.
        config: Nested, as given.
        summary: Last value of each metric; of a table its place.
    """

    path: Path
    id: str
    name: str
    project: str
    group: str
    started: datetime | None
    finished: bool
    config: Mapping[str, Any] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)

    @property
    def numbers(self) -> dict[str, float]:
        """The metrics of the summary that are numbers, W&B's own apart."""
        kept = {k: v for k, v in self.summary.items() if not k.startswith("_") and not isinstance(v, bool)}
        return {k: float(v) for k, v in kept.items() if isinstance(v, int | float)}

    def tables(self) -> dict[str, pd.DataFrame]:
        """Every table that the run logged.

        Raises:
            StoreError: A table's file is not beside the run: it would not arrive at a server either.
        """
        found = {}
        for name, value in self.summary.items():
            if isinstance(value, Mapping) and value.get("_type") == "table-file":
                found[name] = _table(self.path.parent / "files" / str(value["path"]), name)
        return found


def find(places: list[Path]) -> list[Path]:
    """Every ``.wandb`` file at or under some places, oldest first.

    Raises:
        ConfigError: A place does not exist, or holds none.
    """
    found: list[Path] = []
    for place in places:
        inside = [place] if place.suffix == ".wandb" and place.is_file() else sorted(place.rglob("*.wandb"))
        if not inside:
            why = "holds no .wandb file" if place.exists() else "does not exist"
            raise ConfigError(f"{place}: {why}; give a run directory, a wandb folder or a .wandb file")
        found += [p for p in inside if p not in found and (p == place or "latest-run" not in p.parts)]
    return found


def read(path: Path) -> OfflineRun:
    """Read one file; a torn end (the run was killed) is the end.

    Raises:
        StoreError: The file is no W&B log, or damaged before its end.
    """
    from wandb.proto import wandb_internal_pb2 as messages

    head: dict[str, Any] = {}
    config: dict[str, Any] = {}
    summary: dict[str, Any] = {}
    finished = False
    for data in records(path):
        record = messages.Record()  # type: ignore[attr-defined]
        record.ParseFromString(data)
        kind = record.WhichOneof("record_type")
        if kind == "run":
            run = record.run
            head = {
                "id": run.run_id,
                "name": run.display_name,
                "project": run.project,
                "group": run.run_group,
                "started": datetime.fromtimestamp(run.start_time.ToSeconds(), UTC),
            }
            _update(config, run.config.update)
            _update(summary, run.summary.update)
        elif kind == "config":
            _update(config, record.config.update)
        elif kind == "summary":
            _update(summary, record.summary.update)
        elif kind == "history":
            _update(summary, record.history.item)  # offline, nothing folds the last values into a summary
        elif kind == "exit":
            finished = True
    if not head:
        raise StoreError(f"{path}: holds no run; it ended before it began, log the run again")
    config.pop("_wandb", None)
    return OfflineRun(path=path, finished=finished, config=config, summary=summary, **head)


def records(path: Path) -> Iterator[bytes]:
    """The records of a file, whole ones only.

    Raises:
        StoreError: As for :func:`read`.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror})") from error
    if not data.startswith(MAGIC):
        raise StoreError(f"{path}: is no W&B file (its first bytes are {data[:4]!r})")
    at, parts = 7, b""
    while at + 7 <= len(data):
        rest = BLOCK - at % BLOCK
        if rest < 7:  # the tail of a block is padding
            at += rest
            continue
        checksum, length, kind = _HEADER.unpack_from(data, at)
        body = data[at + 7 : at + 7 + length]
        if len(body) < length or not kind:
            return
        if zlib.crc32(body, zlib.crc32(bytes([kind]))) != checksum:
            raise StoreError(f"{path}: the record at byte {at} is damaged; log the run again")
        at += 7 + length
        if kind == _FULL:
            yield body
        elif kind == _FIRST:
            parts = body
        elif kind in (_MIDDLE, _LAST):
            parts += body
            if kind == _LAST:
                yield parts


def listing(runs: list[OfflineRun]) -> pd.DataFrame:
    """One line a run."""
    return pd.DataFrame.from_records(
        [
            {
                "run": run.name or run.id,
                "group": run.group,
                "project": run.project,
                "started": f"{run.started:%Y-%m-%d %H:%M}" if run.started else "",
                "finished": "yes" if run.finished else "no",
                "metrics": len(run.numbers),
                "tables": sum(
                    isinstance(v, Mapping) and v.get("_type") == "table-file" for v in run.summary.values()
                ),
                "file": str(run.path),
            }
            for run in runs
        ]
    )


def _update(place: dict[str, Any], items: Any) -> None:
    for item in items:
        keys = list(item.nested_key) or [item.key]
        inner = place
        for key in keys[:-1]:
            inner = inner.setdefault(key, {})
        inner[keys[-1]] = orjson.loads(_strict(item.value_json))


def _strict(text: str) -> bytes:
    """JSON as W&B writes it knows NaN; a missing value is null here."""
    return b"null" if text in ("NaN", "Infinity", "-Infinity") else text.encode()


def _table(path: Path, name: str) -> pd.DataFrame:
    if not path.is_file():
        raise StoreError(f"{path}: table {name} is not beside its run; copy the whole wandb folder")
    content = orjson.loads(path.read_bytes())
    return pd.DataFrame(content["data"], columns=[str(c) for c in content["columns"]])

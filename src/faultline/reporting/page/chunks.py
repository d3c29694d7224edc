"""Data of the page as classic scripts: from disk a browser refuses fetch, modules and workers, but not these.

A chunk is one call with a JSON text, parsed by the page: no text of a model or corpus ever becomes code or
markup, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from faultline.store import write_file

SIZE = 40
"""Trajectories in a chunk: a few hundred kilobytes, loaded when one of them is opened."""
INDEXED = ("id", "run", "dataset", "task", "condition", "fault", "scope", "injected", "question", "answer")
ALSO_INDEXED = ("backbone", "outcome", "caught", "first")
Record = Mapping[str, Any]


def script(name: str, part: int, value: Any) -> bytes:
    """``FL.add(name, part, "json text");`` as a file that a classic script element loads."""
    text = orjson.dumps(value).decode()
    call = f"FL.add({orjson.dumps(name).decode()},{part},{orjson.dumps(text).decode()});\n"
    # JSON allows these two in a string; scripts older than 2019 do not
    return call.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").encode()


def write(folder: Path, records: Iterable[Record]) -> Iterator[int]:
    """Write the trajectories in chunks, and their index; yields how many each chunk holds.

    Args:
        folder: The page's data folder.
        records: As :mod:`faultline.reporting.page.viewed` gives them, read once.
    """
    index: dict[str, list[Any]] = {name: [] for name in (*INDEXED, *ALSO_INDEXED)}
    waiting = iter(records)
    part = 0
    while batch := list(islice(waiting, SIZE)):
        for record in batch:
            for name, column in index.items():
                column.append(record.get(name))
        write_file(folder / f"trajectories-{part}.js", script("trajectories", part, batch))
        part += 1
        yield len(batch)
    write_file(folder / "index.js", script("index", 0, {"size": SIZE, "columns": index}))

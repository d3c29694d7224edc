"""What is known of some traces: a file of its own, so that nothing but scoring and ``needs_gold`` sees it.

    {"id": "q1", "answers": ["Osterby"], "hop_answers": ["Mira Tolk", "Osterby"], "hop": 1}

``id`` is the trace's. ``answers`` are the accepted ones, the canonical one first. ``hop_answers`` (optional)
say what each hop should have read; ``hop`` (optional, 1-based) which hop is to blame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultline.errors import DataError
from faultline.records import Gold, Hop
from faultline.traces.steps import parsed_json


@dataclass(frozen=True, slots=True)
class Annotated:
    """The annotation of one trace.

    Attributes:
        gold: Accepted answers, and hops where they are annotated.
        hop: The hop to blame, 1-based; None if unknown.
    """

    gold: Gold
    hop: int | None = None


def read(path: str | Path) -> dict[str, Annotated]:
    """Annotations by trace id.

    Raises:
        DataError: No such file, or a line that is not as documented (named, with its field).
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"traces.gold={path}: no such file; give JSON Lines with id and answers")
    found: dict[str, Annotated] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        annotated = _annotated(parsed_json(line), f"{file}, line {number}")
        if annotated.gold.task_id in found:
            raise DataError(f"{file}, line {number}: id {annotated.gold.task_id!r} comes twice; keep one")
        found[annotated.gold.task_id] = annotated
    return found


def _annotated(record: Any, where: str) -> Annotated:
    if not isinstance(record, Mapping) or not isinstance(record.get("id"), str | int):
        raise DataError(f"{where}: is no JSON object with an id")
    answers = _texts(record.get("answers"), f"{where}: field answers")
    if not answers:
        raise DataError(f"{where}: field answers: give at least one accepted answer")
    values = _texts(record.get("hop_answers", []), f"{where}: field hop_answers")
    hop = record.get("hop")
    if hop is not None and (isinstance(hop, bool) or not isinstance(hop, int) or hop < 1):
        raise DataError(f"{where}: field hop: {hop!r} is no hop, counting from 1")
    hops = tuple(Hop("", "", None, value, None) for value in values)
    return Annotated(Gold(str(record["id"]), answers, hops, (), "trace"), hop)


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise DataError(f"{where}: is no list of texts")
    return tuple(value)

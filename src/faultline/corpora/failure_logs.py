"""Failed logs of multi-agent systems with the step that annotators blame: Who&When, and AgentRx beside it.

Who&When (Zhang et al. 2025; 184 logs) counts steps from 0; AgentRx annotated 44 of its hand-crafted logs
again and counts from 1. Here every step is 0-based.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultline.errors import DataError

WHO_AND_WHEN = "traces/who_and_when_184.tar.gz"
AGENTRX = "traces/agentrx.tar.gz"
AGENTRX_TRUTH = "data/ground_truth/magentic_one_ground_truth.json"


@dataclass(frozen=True, slots=True)
class LogStep:
    """One turn of a log."""

    index: int
    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class FailureLog:
    """A failed log.

    Attributes:
        id: Of the task.
        subset: ``algorithm_generated`` or ``hand_crafted``.
        question: The task.
        steps: All turns.
        answer: The correct answer (gold).
        step: 0-based step that the annotator blames.
        agent: Who spoke there, as annotated.
    """

    id: str
    subset: str
    question: str
    steps: tuple[LogStep, ...]
    answer: str
    step: int
    agent: str


def who_and_when(data: Path) -> list[FailureLog]:
    """The logs, by subset and file number.

    Raises:
        DataError: The archive or a field is missing, or a blamed step is not in its log.
    """
    found = []
    for name, raw in _members(data / WHO_AND_WHEN):
        subset = Path(name).parent.name.lower().replace("-", "_")
        found.append((subset, int(Path(name).stem), _log(name, subset, raw)))
    return [log for _, _, log in sorted(found, key=lambda each: each[:2])]


def agentrx_steps(data: Path) -> dict[str, int]:
    """AgentRx's root-cause step (0-based) by task id, for the logs that it shares with Who&When.

    Raises:
        DataError: The archive or a field is missing.
    """
    path = data / AGENTRX
    for name, raw in _members(path):
        if name.endswith(AGENTRX_TRUTH):
            return dict(_root_cause(f"{path}:{name}", record) for record in raw)
    raise DataError(f"{path}: holds no {AGENTRX_TRUTH}; fetch it again with python -m experiments.fetch")


def _root_cause(where: str, record: Mapping[str, Any]) -> tuple[str, int]:
    try:
        cause = str(record["root_cause"]["failure_id"])
        steps = [f["step_number"] for f in record["failures"] if str(f["failure_id"]) == cause]
        return str(record["trajectory_id"]), int(steps[0]) - 1
    except (KeyError, IndexError, TypeError) as error:
        raise DataError(
            f"{where}: record {record.get('trajectory_id')}: no root cause ({error!r})"
        ) from error


def _log(name: str, subset: str, raw: Mapping[str, Any]) -> FailureLog:
    try:
        steps = tuple(
            LogStep(i, str(turn.get("name") or turn["role"]), str(turn["content"]))
            for i, turn in enumerate(raw["history"])
        )
        step = int(raw["mistake_step"])
        made = FailureLog(
            str(raw["question_ID"]),
            subset,
            str(raw["question"]),
            steps,
            str(raw["ground_truth"]),
            step,
            str(raw["mistake_agent"]),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(f"{name}: field {error} is missing or unreadable; fetch the archive again") from error
    if not 0 <= step < len(steps):
        raise DataError(f"{name}: mistake_step {step} is not among its {len(steps)} steps")
    return made


def _members(path: Path) -> Iterator[tuple[str, Any]]:
    if not path.is_file():
        raise DataError(f"{path}: no such file; set FAULTLINE_DATA_DIR to the folder that holds traces/")
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(".json"):
                handle = archive.extractfile(member)
                assert handle is not None
                try:
                    yield member.name, json.load(handle)
                except ValueError as error:
                    raise DataError(f"{path}:{member.name}: not JSON ({error})") from error

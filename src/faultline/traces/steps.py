"""Steps of a foreign trace, and the trajectory that they make."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from faultline.errors import Missing
from faultline.records import ConfidenceSource, Hit, Passage, Stage, StageKind, Trajectory

LIMIT = 1_000_000
"""Longest text of a step in characters; a longer one is a problem, since it would take hours to score."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read: which record, and why."""

    id: str
    what: str


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened.

    Attributes:
        id: Of the span, run or message, for messages.
        retrieves: Whether it brought evidence (a tool or retriever), else the model spoke.
        text: Of the model; of a tool without passages, its result.
        query: What was searched for.
        passages: What came back, best first.
        confidence: In [0, 1], None if unknown.
        source: Where the confidence is from.
    """

    id: str
    retrieves: bool
    text: str = ""
    query: str = ""
    passages: tuple[Passage, ...] = ()
    confidence: float | None = None
    source: ConfidenceSource = "none"


@dataclass(slots=True)
class Traces:
    """What a file held."""

    trajectories: list[Trajectory] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: int = 0

    def problem(self, name: Any, what: str) -> None:
        """Note what could not be read."""
        self.problems.append(Problem(str(name), what))

    def add(
        self, name: str, question: str, steps: Sequence[Step], answer: str | None, backbone: str, source: str
    ) -> None:
        """The trajectory of some steps; one without evidence or without any text is a problem.

        The first evidence is the retrieval stage; later evidence a tool call; what the model says before its
        last word is reasoning, and the last word the synthesis. What it says before the first evidence has
        nothing to be judged by, and is counted as skipped.
        """
        first = next((i for i, step in enumerate(steps) if step.retrieves), None)
        if first is None:
            self.problem(name, "no retrieval or tool result, so there is no evidence to judge by")
            return
        self.skipped += sum(bool(step.text.strip()) for step in steps[:first])
        kept = [s for s in steps[first:] if s.retrieves or s.text.strip()]
        long = next((s for s in kept if len(s.text) > LIMIT), None)
        if long is not None:
            self.problem(long.id, f"a text of {len(long.text)} characters, {LIMIT} are the most")
            return
        stages = tuple(_stage(i, step, i == 1, i == len(kept)) for i, step in enumerate(kept, start=1))
        final = answer or (stages[-1].text if stages[-1].kind == "synthesis" else None)
        missing = None if final else Missing.NO_SPAN
        self.trajectories.append(
            Trajectory(
                f"{source}/{name}", source, name, "observed", 0, question, stages, final, backbone, missing
            )
        )


def _stage(index: int, step: Step, first: bool, last: bool) -> Stage:
    if not step.retrieves:
        kind: StageKind = "synthesis" if last else "reasoning"
        return Stage(index, kind, step.text, confidence=step.confidence, confidence_source=step.source)
    hits = tuple(Hit(p, float(-rank), rank) for rank, p in enumerate(step.passages, start=1))
    text = hits[0].passage.rendered if hits else ""
    return Stage(index, "retrieval" if first else "tool_call", text, query=step.query, hits=hits)


def passages(found: Any) -> tuple[Passage, ...]:
    """Passages of whatever a tool returned: documents, JSON text of them, or plain text."""
    if isinstance(found, str):
        parsed = parsed_json(found)
        if isinstance(parsed, list | Mapping):
            inner = passages(parsed)
            if inner:
                return inner
        return (Passage("1", "", (found,)),) if found.strip() else ()
    if isinstance(found, Mapping):
        for key in ("documents", "results", "passages", "nodes"):
            if isinstance(found.get(key), list):
                return passages(found[key])
        text = _text_of(found)
        return (_passage(found, text, 1),) if text else ()
    made = []
    for rank, item in enumerate(found if isinstance(found, list) else [], start=1):
        text = item if isinstance(item, str) else _text_of(item)
        if text:
            made.append(_passage(item, text, rank))
    return tuple(made)


def parsed_json(text: str) -> Any:
    """JSON of a text, None if it is none. Nothing in it is evaluated."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def content_text(content: Any) -> str:
    """The text of a message's content: a string, or parts of which the text ones count."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    told = [p if isinstance(p, str) else _part(p) for p in parts]
    return "\n".join(text for text in told if text)


def mappings(items: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a list; anything else in it is passed over."""
    for item in items if isinstance(items, list) else []:
        if isinstance(item, Mapping):
            yield item


def _part(part: Any) -> str:
    if not isinstance(part, Mapping) or part.get("type", "text") != "text":
        return ""
    text = part.get("text", part.get("content", ""))
    return text if isinstance(text, str) else ""


def _text_of(item: Any) -> str:
    if not isinstance(item, Mapping):
        return ""
    for key in ("page_content", "text", "content"):
        if isinstance(item.get(key), str) and item[key].strip():
            return str(item[key])
    return ""


def _passage(item: Any, text: str, rank: int) -> Passage:
    known = item if isinstance(item, Mapping) else {}
    inner = known.get("metadata")
    metadata = inner if isinstance(inner, Mapping) else {}
    name = known.get("id") or metadata.get("id") or rank
    return Passage(str(name), str(known.get("title") or metadata.get("title") or ""), (text,))

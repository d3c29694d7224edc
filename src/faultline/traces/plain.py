"""The documented plain format: one JSON object a line.

    {"id": "q1", "question": "...", "answer": "...", "backbone": "gpt-4o", "stages": [
      {"kind": "retrieval", "query": "...", "passages": [{"id": "d1", "title": "...", "text": "..."}]},
      {"kind": "reasoning", "text": "...", "confidence": 0.83, "confidence_source": "logprobs"},
      {"kind": "synthesis", "text": "..."}]}

``kind`` is retrieval, tool_call, reasoning or synthesis. ``passages`` are objects or plain texts, best first.
``confidence`` in [0, 1] is optional; ``confidence_source`` is logprobs or stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultline.traces.steps import Step, Traces, parsed_json, passages

EVIDENCE = ("retrieval", "tool_call")
KINDS = (*EVIDENCE, "reasoning", "synthesis")


def read(text: str, source: str) -> Traces:
    """Trajectories of a plain file; a bad line is a problem with its id or number."""
    found = Traces()
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        record = parsed_json(line)
        if not isinstance(record, Mapping):
            found.problem(f"line {number}", "is no JSON object")
            continue
        name = str(record.get("id") or f"line {number}")
        if not isinstance(record.get("stages"), list):
            found.problem(name, "field stages: is no list")
            continue
        steps = []
        for at, stage in enumerate(record["stages"], start=1):
            step = _step(stage, f"{name}, stage {at}")
            if isinstance(step, str):
                found.problem(f"{name}, stage {at}", step)
                break
            steps.append(step)
        else:
            answer = record.get("answer")
            found.add(
                name,
                str(record.get("question") or ""),
                steps,
                str(answer) if answer else None,
                str(record.get("backbone") or "unknown"),
                source,
            )
    return found


def _step(stage: Any, name: str) -> Step | str:
    """The step, or what is wrong with it."""
    if not isinstance(stage, Mapping):
        return "is no object"
    if stage.get("kind") not in KINDS:
        return f"field kind: is none of {', '.join(KINDS)}"
    text, query = stage.get("text", ""), stage.get("query", "")
    if not isinstance(text, str) or not isinstance(query, str):
        return "field text or query: is no text"
    sure = stage.get("confidence")
    given = sure is not None
    if given and (isinstance(sure, bool) or not isinstance(sure, int | float) or not 0.0 <= sure <= 1.0):
        return "field confidence: is no number in [0, 1]"
    if given and stage.get("confidence_source") not in ("logprobs", "stated"):
        return "field confidence_source: say logprobs or stated"
    retrieves = stage["kind"] in EVIDENCE
    brought = passages(stage.get("passages") or text) if retrieves else ()
    return Step(
        name,
        retrieves,
        text,
        query,
        brought,
        None if sure is None else float(sure),
        stage["confidence_source"] if given else "none",
    )

"""Answering a comparison from two values that were read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from faultline.corpora.spans import normalise
from faultline.records import Gold

ORDERED = ("number", "year")
"""Kinds whose first figure is their value: that of a name (``Commodore 16``) or a date (``3 May``) is not."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_RELATIONS: tuple[Callable[[float, float], bool], ...] = (
    lambda a, b: a > b,
    lambda a, b: a < b,
    lambda a, b: a == b,
    lambda a, b: a != b,
)


def compare(gold: Gold, notes: Sequence[str | None]) -> str | None:
    """The answer that the values read imply, None where they imply none.

    Which relation the question asks about (greater, smaller, equal, different) is the one that gives the
    annotated answer on the annotated values; it is then applied to what was READ.

    Args:
        gold: A comparison with two hops whose answers are of :data:`ORDERED` kinds; any other has no answer.
        notes: What was read at the two hops.
    """
    if gold.question_type != "comparison" or len(gold.hops) != 2:
        return None
    if any(hop.kind not in ORDERED for hop in gold.hops):
        return None
    original = [_number(hop.answer) for hop in gold.hops]
    read = [_number(note) for note in notes[:2]]
    if any(value is None for value in (*original, *read)):
        return None
    a, b = (value for value in original if value is not None)
    x, y = (value for value in read if value is not None)
    if x == y and normalise(gold.answers[0]) not in ("yes", "no"):
        return None  # neither is the smaller or the larger one
    for relation in _RELATIONS:
        outcomes = _outcomes(gold, relation)
        if outcomes[relation(a, b)] is not None and normalise(outcomes[relation(a, b)] or "") == normalise(
            gold.answers[0]
        ):
            return outcomes[relation(x, y)]
    return None


def _outcomes(gold: Gold, relation: Callable[[float, float], bool]) -> dict[bool, str | None]:
    """What the question answers when the relation holds between the first and second value, or does not."""
    if normalise(gold.answers[0]) in ("yes", "no"):
        return {True: "yes", False: "no"}
    if relation in _RELATIONS[:2]:
        return {True: gold.hops[0].entity, False: gold.hops[1].entity}
    return {True: None, False: None}


def _number(text: str | None) -> float | None:
    found = _NUMBER.search((text or "").replace(",", ""))
    return float(found.group()) if found else None

"""Which fact a content fault changes, and into what (paper 2, section 3.2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from faultline.corpora.answer_kinds import kind_of
from faultline.corpora.donors import Donors
from faultline.corpora.spans import mentions, normalise, occurrences
from faultline.records import Gold, Stage

NUMERIC = ("year", "date", "number")
TRIES = 20
_NAME = re.compile(
    r"[A-Z][\w'’-]*(?: (?:of|the|de|van|von|and) (?=[A-Z])| (?=[A-Z])|[\w'’-])*|\d[\d,.]*\d|\d"
)
_DIGITS = re.compile(r"\d[\d,]*")


@dataclass(frozen=True, slots=True)
class Span:
    """A fact to change: its text and the strategy that chose it."""

    text: str
    strategy: str


@dataclass(frozen=True, slots=True)
class Change:
    """A replacement: before, after, the strategy, and the example that lent it (None if perturbed)."""

    before: str
    after: str
    strategy: str
    donor: str | None


def choose_span(question: str, gold: Gold, base: Sequence[Stage], hop: int, how: str) -> Span | None:
    """The fact to change in the documents of a hop; None if there is none.

    Args:
        question: The question.
        gold: Its annotation.
        base: The hops of the base trace.
        hop: 1-based.
        how: ``hop_fact``: the value read at the hop. ``paper``: the answer if it stands there, else a bridge
            entity (in a later query, not in the question), else the most frequent name or number that the
            question does not have.
    """
    texts = [hit.passage.rendered for hit in base[hop - 1].hits]
    if how == "hop_fact":
        value = base[hop - 1].answer
        return Span(value, "hop_fact") if value and _stands(value, texts) else None
    for answer in gold.answers:
        if _stands(answer, texts):
            return Span(answer, "answer_fact")
    for name in _bridges(base, hop):
        if not mentions(question, name) and _stands(name, texts):
            return Span(name, "bridge_entity")
    for name in _salient(texts):
        if not mentions(question, name):
            return Span(name, "salient_entity")
    return None


def replacement_of(
    span: Span, gold: Gold, donors: Donors, unlike: str, task_id: str, rng: np.random.Generator
) -> Change | None:
    """What to put in its place: a perturbed number, or another example's answer of the same kind."""
    same = (h.kind for h in gold.hops if normalise(h.answer) == normalise(span.text))
    kind = next(same, None) or kind_of(span.text)
    if kind in NUMERIC or _DIGITS.fullmatch(span.text):
        near = perturbed(span.text, unlike, rng)
        if near is not None:
            return Change(span.text, near, span.strategy, None)
    donor = donors.pick(kind, span.text, unlike, task_id, rng)
    return None if donor is None else Change(span.text, donor.value, span.strategy, donor.task_id)


def perturbed(value: str, unlike: str, rng: np.random.Generator) -> str | None:
    """The value with its last number moved by 2 to 20 (years), or by up to half of it; None without one."""
    found = list(_DIGITS.finditer(value))
    if not found:
        return None
    place = found[-1]
    number = int(place.group().replace(",", ""))
    reach = 20 if 1000 <= number <= 2100 else max(4, number // 2)
    for _ in range(TRIES):
        step = int(rng.integers(2, reach + 1))
        moved = number + step if rng.random() < 0.5 or number <= step else number - step
        text = f"{moved:,}" if "," in place.group() else str(moved)
        changed = value[: place.start()] + text + value[place.end() :]
        if not mentions(unlike, changed):
            return changed
    return None


def _bridges(base: Sequence[Stage], hop: int) -> Iterator[str]:
    """What was read at the hop, then names, that stand in a later query."""
    later = [stage.query for stage in base[hop:]]
    value = base[hop - 1].answer
    if value and any(mentions(query, value) for query in later):
        yield value
    for query in later:
        yield from sorted(_names(query), key=len, reverse=True)


def _salient(texts: Sequence[str]) -> Iterator[str]:
    counts = Counter(name for text in texts for name in _names(text))
    for name, _ in sorted(counts.items(), key=lambda item: (-item[1], -len(item[0]), item[0])):
        yield name


def _names(text: str) -> list[str]:
    return [m.group().strip() for m in _NAME.finditer(text) if len(m.group().strip()) > 2]


def _stands(value: str, texts: Sequence[str]) -> bool:
    return any(occurrences(text, value) for text in texts)

"""The ledger as the page shows it: records for its script, the headline's counts, one bar a paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from faultline.reporting.ledger import STATUSES
from faultline.reporting.ledger_check import Outcome
from faultline.reporting.paper_tables import number

ABOUT = {
    "reproduced": "come out as printed",
    "differs": "another number came out",
    "inconsistent": "contradict the paper itself",
    "conditional": "hold under one assumption only",
    "weakened": "hold, but less than stated",
    "not_run": "wait for a run or for data",
    "not_available": "cannot be had by anyone",
}
CHECKED = ("reproduced", "differs", "inconsistent", "conditional", "weakened")
_LEFT, _WIDTH = 110, 850


@dataclass(frozen=True, slots=True)
class Headline:
    """Counts over the whole ledger.

    Attributes:
        lead: One sentence.
        tiles: Status, count and what it means.
        bars: Per paper, parts of a bar in the SVG's units.
    """

    lead: str
    tiles: list[tuple[str, int, str]]
    bars: list[dict[str, Any]]


def headline(outcomes: Sequence[Outcome]) -> Headline:
    """What stands at the top of the page."""
    counts = Counter(str(o.status) for o in outcomes)
    by_paper: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        by_paper.setdefault(outcome.claim.paper, Counter())[outcome.status] += 1
    most = max((sum(c.values()) for c in by_paper.values()), default=1)
    return Headline(
        lead=lead(outcomes),
        tiles=[(status, counts[status], ABOUT[status]) for status in STATUSES],
        bars=[_bar(paper, found, most) for paper, found in by_paper.items()],
    )


def lead(outcomes: Sequence[Outcome]) -> str:
    """How many claims there are, how many were checked in which way, and how many of these hold."""
    ways = (
        ("recompute", "recomputed from released data"),
        ("rerun", "re-run"),
        ("consistency", "checked by arithmetic inside the paper"),
        ("statement", "sentences tested on released data"),
    )
    said = []
    for kind, how in ways:
        checked = [o for o in outcomes if o.claim.kind == kind and o.status in CHECKED]
        hold = sum(o.status == "reproduced" for o in checked)
        if checked:
            said.append(f"{len(checked):,} {how} ({hold:,} hold)")
    papers = len({o.claim.paper for o in outcomes})
    ways_said = ", ".join(said) or "none checked yet"
    return f"{len(outcomes):,} published numbers and sentences of {papers} papers: {ways_said}."


def records(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """One record a claim, numbers in the unit of the print."""
    return [_record(outcome) for outcome in outcomes]


def _bar(paper: str, found: Counter[str], most: int) -> dict[str, Any]:
    scale = _WIDTH / most
    parts, at = [], float(_LEFT)
    for status in STATUSES:
        if found[status]:
            width = found[status] * scale
            parts.append(
                {"status": status, "count": found[status], "x": round(at, 2), "width": round(width, 2)}
            )
            at += width
    return {"paper": paper, "total": sum(found.values()), "parts": parts}


def _record(outcome: Outcome) -> dict[str, Any]:
    claim = outcome.claim
    low, high = number(outcome, outcome.low), number(outcome, outcome.high)
    counted = f"{outcome.n:,} of {outcome.total:,}" if outcome.n is not None else ""
    return {
        "paper": claim.paper,
        "id": claim.id,
        "where": claim.where,
        "text": claim.text,
        "printed": claim.printed,
        "number": claim.number.value if claim.number else None,
        "ours": number(outcome, outcome.computed),
        "interval": f"[{low}, {high}]" if low and high else "",
        "n": counted,
        "kind": claim.kind,
        "status": outcome.status,
        "backbone": outcome.backbone,
        "why": "; ".join(dict.fromkeys(text for text in (outcome.detail, claim.note) if text)),
        "unexpected": outcome.unexpected,
    }

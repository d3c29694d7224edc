"""Cases and diagnoses as two tables, from which every number of a study is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from faultline.attribution.diagnosis import Case, Diagnoser, Diagnosis, flips, right
from faultline.attribution.outcomes import covered, label
from faultline.corpora.spans import mentions
from faultline.interventions.probe import Probe
from faultline.records import Gold

STAGE_OF = {"early_termination": "answer_generation"}
"""What fails under a fault; ``retrieval`` under every other one."""


CASE_COLUMNS = (
    "setting",
    "where",
    "case",
    "task",
    "family",
    "fault",
    "scope",
    "depth",
    "strategy",
    "stage",
    "hops",
    "base_hops",
    "suffix",
    "position",
    "recovered",
    "outcome",
    "contaminated",
    "placebo_flips",
)
"""Columns of the table of cases: what :func:`case_row` gives, with the setting and the cell."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What was injected, for scoring."""

    fault: str
    scope: str
    depth: int
    task: str
    changed: str
    strategy: str
    base_hops: int

    @property
    def stage(self) -> str:
        """The stage that failed."""
        return STAGE_OF.get(self.fault, "retrieval")

    @property
    def family(self) -> str:
        """``content`` or ``structural``."""
        return "content" if self.fault == "content" else "structural"


def case_row(case: Case, truth: Truth, gold: Gold, placebos: int) -> dict[str, object]:
    """One injected case: outcome, contamination, suffix, and how often a null repair flips a failed one.

    Args:
        case: The trace with gold.
        truth: What was injected.
        gold: The annotation.
        placebos: Null repairs a failed case, 0 for none.
    """
    recovered = right(case.answer, gold)
    later = [hop.query for hop in case.hops[truth.depth :]]
    outcome = "" if truth.family == "structural" else _outcome(case.answer, gold, truth.changed, recovered)
    chance = [flips(case, case.probes(Probe("placebo", 0, "working", s))) for s in range(1, placebos + 1)]
    return {
        "case": case.id,
        "task": truth.task,
        "family": truth.family,
        "fault": truth.fault,
        "scope": truth.scope,
        "depth": truth.depth,
        "strategy": truth.strategy,
        "stage": truth.stage,
        "hops": len(case.hops),
        "base_hops": truth.base_hops,
        "suffix": max(0, len(case.hops) - truth.depth),
        "position": _position(truth.depth, truth.base_hops),
        "recovered": recovered,
        "outcome": outcome,
        "contaminated": bool(truth.changed) and any(mentions(query, truth.changed) for query in later),
        "placebo_flips": sum(chance) / len(chance) if chance and not recovered else None,
    }


def diagnosis_rows(case: Case, diagnosers: Sequence[Diagnoser]) -> Iterable[dict[str, object]]:
    """What each diagnoser says; one without ``needs_gold`` gets no gold."""
    blind = replace(case, gold=None)
    for diagnoser in diagnosers:
        found = diagnoser.diagnose(case if diagnoser.needs_gold else blind)
        yield {
            "case": case.id,
            "system": diagnoser.name,
            "needs_gold": diagnoser.needs_gold,
            "said_stage": found.stage,
            "said_hop": found.hop,
            "tokens": found.tokens,
            "placebo_tokens": found.placebo_tokens,
            "probes": found.probes,
            "confidence": _confidence(found),
            "reason": found.reason,
        }


def joined(cases: pd.DataFrame, diagnoses: pd.DataFrame) -> pd.DataFrame:
    """Diagnoses of failed cases beside their truth."""
    return diagnoses.merge(cases.loc[~cases["recovered"]], on=["case", "setting"], how="inner")


def _outcome(answer: str | None, gold: Gold, changed: str, recovered: bool) -> str:
    if recovered:
        return "resisted"
    if answer is not None and covered(changed, answer) > 0:
        return label(answer, gold.answers[0], changed)
    return "derailed"


def _position(depth: int, hops: int) -> str:
    return "first" if depth == 1 else "last" if depth == hops else "middle"


def _confidence(found: Diagnosis) -> float | None:
    return max(found.probabilities) if found.probabilities else None

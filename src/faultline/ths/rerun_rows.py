"""Rows of a re-run of paper 3: OSR, the judges' KPIs and THS by stage, whole and by prompt population."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pandas as pd

from faultline.results import Row
from faultline.stats import bootstrap, generator, wilson
from faultline.ths import osr, score
from faultline.ths.release import JUDGED, STAGES
from faultline.ths.rows import row
from faultline.ths.tables import ALL_SUBSETS

TABLE = "ths_rerun"
FULL_LENGTH = 150.0
"""Words at which the revised OSR asks for the paper's full counts."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """What all rows of a run share."""

    experiment: str
    dataset: str
    backbone: str
    embedder: str = ""
    resamples: int = 10_000

    def named(self, made: Row) -> Row:
        """A row under this run's name."""
        return replace(
            made,
            experiment=self.experiment,
            dataset=self.dataset,
            backbone=self.backbone,
            embedder=self.embedder,
        )


def osr_revised(text: str) -> float:
    """OSR with counts per :data:`FULL_LENGTH` words, reported beside the original, never instead of it.

    The original rewards length: a text twice as long has room for twice the phrases. Here a count ``c`` in a
    text of ``w`` words becomes ``c * min(1, FULL_LENGTH / w)``: a short text keeps its counts. This revision
    is our own; the paper has none.
    """
    counts = osr.counts(text)
    share = min(1.0, FULL_LENGTH / max(1, len(text.split())))
    return float(osr.score(counts.reasoning * share, counts.metadata * share, counts.disclaimer * share))


def text_rows(run: Rerun, stages: pd.DataFrame, extra: str) -> Iterator[Row]:
    """OSR, revised OSR and memory use of the texts.

    Args:
        run: Names.
        stages: One row a prompt and stage: promptid, subset, stage, text, hit, missing.
        extra: Further ``;key=value`` of the condition.
    """
    measures: dict[str, Callable[[str], float]] = {"osr": osr.osr, "osr_revised": osr_revised}
    for subset, stage, part in _parts(stages):
        there = part[part["missing"] == ""]
        at = f"stage={stage};subset={subset}{extra}"
        for metric, measure in measures.items():
            values = there.assign(value=[measure(text) for text in there["text"]])
            yield _mean(run, metric, "lexical", at, values, part)
        found = wilson(int(there["hit"].sum()), len(there))
        yield run.named(
            row(TABLE, "hit_rate", "memory", at, found.value, len(there), unit="rate", low=found.low,
                high=found.high, n_missing=len(part) - len(there), note=_why(part))
        )  # fmt: skip


def judged_rows(run: Rerun, scores: pd.DataFrame, judge: str, extra: str) -> Iterator[Row]:
    """KPIs, THS and missing replies of one judge.

    Args:
        run: Names.
        scores: One row a prompt and stage: promptid, subset, stage, missing, OSR and the four KPIs.
        judge: Instrument and model.
        extra: Further ``;key=value`` of the condition.
    """
    for subset, stage, part in _parts(scores):
        there = part[part["missing"] == ""]
        at = f"stage={stage};subset={subset}{extra}"
        for kpi in JUDGED:
            yield _mean(run, kpi.lower(), judge, at, there.assign(value=there[kpi]), part)
        kpis = there[list(score.KPIS)].to_numpy(dtype=float)
        for name, weights in {"FourKPI": score.FOUR_KPI, **score.WEIGHTINGS}.items():
            values = there.assign(value=score.ths(kpis, weights) if len(there) else [])
            yield _mean(run, "ths", judge, f"{at};weighting={name}", values, part)
        failed = wilson(len(part) - len(there), len(part))
        yield run.named(
            row(TABLE, "judge_missing", judge, at, failed.value, len(part), unit="rate", low=failed.low,
                high=failed.high, note=_why(part))
        )  # fmt: skip


def _parts(table: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for subset in ALL_SUBSETS:
        chosen = table if subset == "all" else table[table["subset"] == subset]
        for stage in STAGES:
            part = chosen[chosen["stage"] == stage]
            if len(part):
                yield subset, stage, part


def _mean(run: Rerun, metric: str, system: str, at: str, there: pd.DataFrame, part: pd.DataFrame) -> Row:
    rng = generator(TABLE, metric, system, at)
    found = bootstrap(there["value"].to_numpy(dtype=float), rng, resamples=run.resamples)
    missing = len(part) - len(there)
    return run.named(
        row(TABLE, metric, system, at, found.value, found.n, low=found.low, high=found.high,
            n_missing=missing, note=_why(part))
    )  # fmt: skip


def _why(part: pd.DataFrame) -> str:
    reasons = Counter(part.loc[part["missing"] != "", "missing"])
    return "missing: " + ", ".join(f"{k}={n}" for k, n in sorted(reasons.items())) if reasons else ""

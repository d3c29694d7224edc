"""Section 11 of paper 3: substituted rows, the OSR floor, lengths; and the change without the substituted rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from faultline.results import Row
from faultline.ths import alignment, score
from faultline.ths.osr import CLAMP
from faultline.ths.release import JUDGED, STAGES, in_subset, stage_kpis
from faultline.ths.rows import row
from faultline.ths.tables import ALL_SUBSETS, STEPS, SYSTEMS


def compute(kpis: pd.DataFrame) -> Iterator[Row]:
    """All rows of this file, from the checked per-prompt KPIs."""
    for subset in ALL_SUBSETS:
        part = in_subset(kpis, subset)
        yield from substituted(part, subset)
        yield from floor_and_length(part, subset)
    yield from signature(kpis)


def substituted(kpis: pd.DataFrame, subset: str) -> Iterator[Row]:
    """How many rows hold the evaluator's substitute values, and every change of THS without them."""
    flag = kpis["evaluator_substituted"].to_numpy(dtype=bool)
    yield row("section11", "substituted_rows", "all", f"subset={subset}", float(flag.sum()), len(kpis), unit="count")
    kept = kpis.loc[~flag]
    for name, weights in SYSTEMS.items():
        for step, (start, end) in STEPS.items():
            change = float((score.ths(stage_kpis(kept, end), weights) - score.ths(stage_kpis(kept, start), weights)).mean())
            at = f"rows=without_substituted;step={step};subset={subset}"
            yield row("section11", "ths_change", name, at, change, len(kept))


def signature(kpis: pd.DataFrame) -> Iterator[Row]:
    """Whether one exact KPI vector marks the substituted rows, and no other row has it."""
    vectors = kpis[[f"{s}_{k}" for s in STAGES for k in JUDGED]]
    flag = kpis["evaluator_substituted"].to_numpy(dtype=bool)
    distinct = vectors.loc[flag].drop_duplicates()
    alike = 0 if len(distinct) != 1 else int((vectors.to_numpy() == distinct.to_numpy()).all(axis=1).sum())
    yield row("section11", "signatures", "substituted", "subset=all", float(len(distinct)), int(flag.sum()), unit="count")
    yield row("section11", "rows_with_signature", "all", "subset=all", float(alike), len(kpis), unit="count")


def floor_and_length(kpis: pd.DataFrame, subset: str) -> Iterator[Row]:
    """Responses on the OSR clamp floor, mean lengths in words, and OSR against length."""
    for stage in STAGES:
        at, n = f"stage={stage};subset={subset}", len(kpis)
        on_floor = np.isclose(kpis[f"{stage}_OSR"], CLAMP[0])
        yield row("section11", "osr_at_floor", "OSR", at, float(on_floor.sum()), n, unit="count")
        yield row("section11", "length_words", "response", at, float(kpis[f"{stage}_len_words"].mean()), n, unit="words")
        distinct = float(kpis[f"{stage}_sha256_12"].nunique())
        yield row("section11", "distinct_texts", "response", at, distinct, n, unit="count")
    osr = kpis[[f"{s}_OSR" for s in STAGES]].to_numpy().ravel()
    words = kpis[[f"{s}_len_words" for s in STAGES]].to_numpy().ravel()
    found = alignment.spearman(osr, words)
    yield row("section11", "osr_length_spearman", "OSR", f"stage=every;subset={subset}", found.rho, found.n)

"""Section 11 of paper 3: substituted rows and the change without them, the OSR floor, lengths."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from faultline.results import Row
from faultline.ths import alignment, score
from faultline.ths.osr import CLAMP
from faultline.ths.release import JUDGED, STAGES, in_subset, stage_kpis
from faultline.ths.rows import count, row
from faultline.ths.tables import ALL_SUBSETS, STEPS, SYSTEMS, mean_of

TABLE = "section11"


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
    yield count(TABLE, "substituted_rows", "all", f"subset={subset}", flag.sum(), len(kpis))
    kept = kpis.loc[~flag]
    for name, weights in SYSTEMS.items():
        by_stage = {stage: score.ths(stage_kpis(kept, stage), weights) for stage in STAGES}
        for step, (start, end) in STEPS.items():
            change = mean_of(by_stage[end] - by_stage[start])
            at = f"rows=without_substituted;step={step};subset={subset}"
            yield row(TABLE, "ths_change", name, at, change, len(kept))


def signature(kpis: pd.DataFrame) -> Iterator[Row]:
    """Whether one exact KPI vector marks the substituted rows, and no other row has it."""
    vectors = kpis[[f"{s}_{k}" for s in STAGES for k in JUDGED]]
    flag = kpis["evaluator_substituted"].to_numpy(dtype=bool)
    distinct = vectors.loc[flag].drop_duplicates()
    same = (vectors.to_numpy() == distinct.to_numpy()).all(axis=1) if len(distinct) == 1 else flag & False
    yield count(TABLE, "signatures", "substituted", "subset=all", len(distinct), int(flag.sum()))
    yield count(TABLE, "rows_with_signature", "all", "subset=all", same.sum(), len(kpis))


def floor_and_length(kpis: pd.DataFrame, subset: str) -> Iterator[Row]:
    """Responses on the OSR clamp floor, mean lengths in words, distinct texts, and OSR against length."""
    n = len(kpis)
    for stage in STAGES:
        at = f"stage={stage};subset={subset}"
        on_floor = np.isclose(kpis[f"{stage}_OSR"], CLAMP[0])
        words = mean_of(kpis[f"{stage}_len_words"].to_numpy(dtype=np.float64))
        yield count(TABLE, "osr_at_floor", "OSR", at, on_floor.sum(), n)
        yield row(TABLE, "length_words", "response", at, words, n, unit="words")
        yield count(TABLE, "distinct_texts", "response", at, kpis[f"{stage}_sha256_12"].nunique(), n)
    osr = kpis[[f"{s}_OSR" for s in STAGES]].to_numpy().ravel()
    length = kpis[[f"{s}_len_words" for s in STAGES]].to_numpy().ravel()
    found = alignment.spearman(osr, length)
    yield row(TABLE, "osr_length_spearman", "OSR", f"stage=every;subset={subset}", found.rho, found.n)

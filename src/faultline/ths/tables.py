"""Tables 1 and 3-7, sections 6.1-6.4 and Appendix B of paper 3, from the per-prompt KPIs, by subset."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from faultline.results import Row
from faultline.stats import bootstrap, generator
from faultline.ths import cache, score
from faultline.ths.release import STAGES, SUBSETS, in_subset, stage_kpis
from faultline.ths.rows import count, row

FloatArray = npt.NDArray[np.float64]
ALL_SUBSETS = ("all", *SUBSETS)
STEPS = {"first": ("front", "second"), "second": ("second", "third"), "total": ("front", "third")}
"""The two review steps, and the change end to end."""
SYSTEMS = {"FourKPI": score.FOUR_KPI, **score.WEIGHTINGS}
W5_GRID = (0.0, 0.2, 0.6)
"""The points that section 6.1 prints."""


def compute(kpis: pd.DataFrame) -> Iterator[Row]:
    """All rows of this file, from the checked per-prompt KPIs."""
    yield from benchmark(kpis)
    for subset in ALL_SUBSETS:
        part = in_subset(kpis, subset)
        yield from kpi_means(part, subset)
        yield from kpi_changes(part, subset)
        yield from ths_means(part, subset)
        yield from ths_changes(part, subset)
        yield from ths_parts(part, subset)
        yield from osr_weight(part, subset)
        yield from cache_use(part, subset)
        yield from cache_differences(part, subset)


def benchmark(kpis: pd.DataFrame) -> Iterator[Row]:
    """Table 1: prompts of each kind, and their share."""
    for subset in ALL_SUBSETS:
        n = len(in_subset(kpis, subset))
        yield count("table1", "prompts", subset, "", n, len(kpis))
        yield row("table1", "prompt_share", subset, "", n / len(kpis), len(kpis), unit="rate")


def kpi_means(kpis: pd.DataFrame, subset: str) -> Iterator[Row]:
    """Table 3 and Figure 6: mean KPI by stage with its standard error; the interval is mean +- 1.96 SE."""
    for stage in STAGES:
        values = stage_kpis(kpis, stage)
        n = len(values)
        for name, column in zip(score.KPIS, values.T, strict=True):
            mean = mean_of(column)
            error = float(column.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
            where = f"stage={stage};subset={subset}"
            yield row(
                "table3", "kpi_mean", name, where, mean, n, low=mean - 1.96 * error, high=mean + 1.96 * error
            )
            yield row("figure6", "kpi_standard_error", name, where, error, n)


def kpi_changes(kpis: pd.DataFrame, subset: str) -> Iterator[Row]:
    """Table 4: change of each mean KPI by step; for OSR also relative to the earlier stage (section 12)."""
    for step, (start, end) in STEPS.items():
        before, after = mean_kpis(kpis, start), mean_kpis(kpis, end)
        where = f"step={step};subset={subset}"
        for i, name in enumerate(score.KPIS):
            yield row("table4", "kpi_change", name, where, float(after[i] - before[i]), len(kpis))
        relative = float(after[-1] / before[-1] - 1)
        yield row("section12", "kpi_relative_change", "OSR", where, relative, len(kpis), unit="rate")


def ths_means(kpis: pd.DataFrame, subset: str) -> Iterator[Row]:
    """Tables 6 and 7: mean THS by stage, the primary 4-KPI convention and the five weightings."""
    for name, weights in SYSTEMS.items():
        for stage in STAGES:
            mean = mean_of(score.ths(stage_kpis(kpis, stage), weights))
            yield row("table7", "ths_mean", name, f"stage={stage};subset={subset}", mean, len(kpis))


def ths_changes(kpis: pd.DataFrame, subset: str) -> Iterator[Row]:
    """Table 7 and section 6.4: change by step, its share of the range, and what the third stage gives back.

    The interval is a BCa bootstrap over prompts (paired: each prompt with itself).
    """
    n = len(kpis)
    for name, weights in SYSTEMS.items():
        by_stage = {stage: score.ths(stage_kpis(kpis, stage), weights) for stage in STAGES}
        changes = {step: by_stage[end] - by_stage[start] for step, (start, end) in STEPS.items()}
        for step, values in changes.items():
            where = f"step={step};subset={subset}"
            drawn = bootstrap(values, generator("ths_change", name, step, subset), resamples=2000)
            change = mean_of(values)
            yield row("table7", "ths_change", name, where, change, n, low=drawn.low, high=drawn.high)
            share = score.range_share(change, weights)
            yield row("section6.4", "ths_range_share", name, where, share, n, unit="rate")
        total = mean_of(changes["total"])
        for step in ("first", "second"):
            part = mean_of(changes[step]) / total if total else None
            yield row(
                "section6.4", "ths_step_share", name, f"step={step};subset={subset}", part, n, unit="rate"
            )
        first = mean_of(changes["first"])
        back = -mean_of(changes["second"]) / first if first else None
        yield row("section6.4", "ths_given_back", name, f"subset={subset}", back, n, unit="rate")


def ths_parts(kpis: pd.DataFrame, subset: str) -> Iterator[Row]:
    """Sections 6.1 and 6.4: the exact decomposition of each change over the KPIs, and the shares."""
    means = {stage: mean_kpis(kpis, stage) for stage in STAGES}
    for name, weights in SYSTEMS.items():
        for step, (start, end) in STEPS.items():
            terms = score.contributions(means[start], means[end], weights)
            parts = score.shares(terms)
            for i, kpi in enumerate(score.KPIS):
                where = f"kpi={kpi};step={step};subset={subset}"
                yield row("section6", "ths_contribution", name, where, float(terms[i]), len(kpis))
                share = None if parts is None else float(parts[i])
                yield row("section6", "ths_contribution_share", name, where, share, len(kpis), unit="rate")


def osr_weight(kpis: pd.DataFrame, subset: str) -> Iterator[Row]:
    """Section 6.1: the end-to-end change along w5, where it crosses zero, and its spread over weightings."""
    before, after = mean_kpis(kpis, "front"), mean_kpis(kpis, "third")
    n = len(kpis)
    for w5 in W5_GRID:
        change = float(score.contributions(before, after, score.weights_with_osr(w5)).sum())
        yield row("section6.1", "ths_change_at_w5", "EqualRest", f"w5={w5:.2f};subset={subset}", change, n)
    at = score.crossing(before, after).w5
    note = "" if at is not None else "undefined: no w5 in [0, 1] reverses the sign"
    yield row("section6.1", "w5_crossing", "EqualRest", f"subset={subset}", at, n, note=note)
    sizes = [abs(float(score.contributions(before, after, w).sum())) for w in SYSTEMS.values()]
    spread = max(sizes) / min(sizes) if min(sizes) else None
    yield row("section6.1", "weighting_spread", "all", f"subset={subset}", spread, n, unit="ratio")


def cache_use(kpis: pd.DataFrame, subset: str) -> Iterator[Row]:
    """Table 5: hits, misses and hit rate by stage and over all calls."""
    flags = {stage: kpis[f"{stage}_cache_hit"].to_numpy(dtype=bool) for stage in STAGES}
    for system, hits in {**flags, "all": np.stack(list(flags.values()))}.items():
        used = cache.use(hits)
        where = f"subset={subset}"
        yield count("table5", "cache_hits", system, where, used.hits, hits.size)
        yield count("table5", "cache_misses", system, where, used.misses, hits.size)
        yield row("table5", "cache_rate", system, where, used.rate, hits.size, unit="rate")


def cache_differences(kpis: pd.DataFrame, subset: str) -> Iterator[Row]:
    """Appendix B: third-stage THS of served minus fresh responses, by both readings of "served".

    The caption splits by whether the third-stage response was served, the prose by whether any stage's was.
    """
    third = kpis["third_cache_hit"].to_numpy(dtype=bool)
    any_stage = np.stack([kpis[f"{stage}_cache_hit"].to_numpy(dtype=bool) for stage in STAGES]).any(axis=0)
    for name, weights in SYSTEMS.items():
        values = score.ths(stage_kpis(kpis, "third"), weights)
        for split, hits in {"third": third, "any": any_stage}.items():
            where = f"split={split};subset={subset}"
            difference = cache.served_difference(values, hits)
            yield row("appendixB", "cache_difference", name, where, difference, len(kpis))


def mean_of(values: FloatArray) -> float:
    """The mean of a vector; NaN, and no warning, for none."""
    return float(values.mean()) if values.size else float("nan")


def mean_kpis(kpis: pd.DataFrame, stage: str) -> FloatArray:
    """The mean KPI vector of a stage, shape (5,); NaN without rows."""
    return np.array([mean_of(column) for column in stage_kpis(kpis, stage).T])

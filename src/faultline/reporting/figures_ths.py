"""Figures 6-14 of paper 3, drawn from results rows and the per-prompt table of ``ths_released``.

Every drawn mean is looked up in the results table, and the per-prompt series must average to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from faultline.errors import DataError
from faultline.reporting.figure_style import BLUE, GREEN, GREY, ORANGE, RED
from faultline.ths import cache
from faultline.ths.release import STAGES
from faultline.ths.score import KPIS, SIGNS, WEIGHTINGS

FloatArray = npt.NDArray[np.float64]

NAMES = {"front": "FrontEndAgent", "second": "SecondLevelReviewer", "third": "ThirdLevelReviewer"}
COLOURS = {"front": BLUE, "second": ORANGE, "third": GREEN}
HATCHES = {"front": "", "second": "///", "third": "..."}
LINES = {"front": "-", "second": "--", "third": ":"}
WINDOW = 10
"""Prompts in the rolling hit rate (Figure 7)."""
DISTRIBUTIONS = dict(zip(range(10, 15), WEIGHTINGS, strict=True))
"""Figure number to weighting, Figures 10-14."""


class Values:
    """Results rows of paper 3, looked up by name."""

    def __init__(self, results: pd.DataFrame) -> None:
        keyed = results.set_index(["table", "metric", "system", "condition"])
        self._values: Mapping[Any, float] = keyed["value"].to_dict()

    def __call__(self, table: str, metric: str, system: str, condition: str) -> float:
        """The value of a row.

        Raises:
            DataError: There is no such row.
        """
        try:
            return self._values[table, metric, system, condition]
        except KeyError as error:
            name = f"{table}/{metric}/{system}/{condition}"
            raise DataError(f"results table: no row {name}; run +exp=ths_released again") from error


def figures(results: pd.DataFrame, prompts: pd.DataFrame) -> dict[str, Callable[[], Figure]]:
    """Stem to a function that draws it: ``figure6`` to ``figure14``.

    Args:
        results: Rows of ``ths_released``.
        prompts: Its per-prompt table.
    """
    values = Values(results)
    drawn: dict[str, Callable[[], Figure]] = {
        "figure6": lambda: kpi_means(values),
        "figure7": lambda: cache_use(values, prompts),
        "figure8": lambda: evolution(values, prompts),
        "figure9": lambda: configurations(values),
    }
    for number, weighting in DISTRIBUTIONS.items():
        drawn[f"figure{number}"] = lambda w=weighting: distribution(values, prompts, w)  # type: ignore[misc]
    return drawn


def kpi_means(values: Values) -> Figure:
    """Figure 6: mean of each KPI by stage, with standard errors."""
    figure = Figure(figsize=(8, 3.8))
    axes = figure.subplots()
    at = np.arange(len(KPIS), dtype=np.float64)
    for i, stage in enumerate(STAGES):
        where = f"stage={stage};subset=all"
        means = [values("table3", "kpi_mean", kpi, where) for kpi in KPIS]
        errors = [values("figure6", "kpi_standard_error", kpi, where) for kpi in KPIS]
        _bars(axes, at + (i - 1) * 0.26, means, stage, errors)
    better = ["lower" if sign > 0 else "higher" for sign in SIGNS]
    axes.set_xticks(at, [f"{kpi}\n({way} is better)" for kpi, way in zip(KPIS, better, strict=True)])
    axes.set_ylabel("mean over 310 prompts")
    axes.set_title("Mean KPI by pipeline stage, with standard errors")
    axes.set_ylim(0, 0.78)
    axes.legend(loc="upper center", ncols=3)
    return figure


def cache_use(values: Values, prompts: pd.DataFrame) -> Figure:
    """Figure 7: (a) cumulative hits, (b) hit rate over the last ten prompts."""
    hits = _hits(values, prompts)
    figure = Figure(figsize=(8, 5.2))
    top, bottom = figure.subplots(2, 1, sharex=True)
    total = cache.cumulative(hits)
    top.plot(prompts["promptid"], total, color="black", label="all three agents")
    for i, stage in enumerate(STAGES):
        running = cache.cumulative(hits[:, i])
        top.plot(prompts["promptid"], running, LINES[stage], color=COLOURS[stage], label=NAMES[stage])
    top.annotate(
        f"{total[-1]} of {hits.size} calls",
        (len(hits) - 1, total[-1]),
        ha="right",
        va="bottom",
        fontweight="bold",
    )
    top.set_ylabel("cumulative cache hits")
    top.set_title("(a) Semantic cache hits")
    top.legend(loc="upper left")
    rate = np.mean([cache.rolling_rate(hits[:, i], WINDOW) for i in range(3)], axis=0)
    bottom.plot(prompts["promptid"], rate, color=BLUE)
    bottom.axhline(values("table5", "cache_rate", "all", "subset=all"), color=GREY, ls="--", lw=1)
    boundary = int((prompts["subset"] == "realistic").sum()) - 0.5
    for axes in (top, bottom):
        axes.axvline(boundary, color=RED, lw=1, ls=":")
    top.text(boundary + 2, 20, "fabrication subset", color=RED)
    bottom.set(xlabel="prompt", ylabel=f"hit rate, last {WINDOW} prompts", ylim=(0, 1.02))
    bottom.set_title("(b) Rolling hit rate (dashed: over the whole run)")
    return figure


def evolution(values: Values, prompts: pd.DataFrame) -> Figure:
    """Figure 8: (a) THS by prompt with cumulative hits, (b) change by prompt at the first review step."""
    series = series_of(values, prompts, "Baseline")
    figure = Figure(figsize=(8.5, 6))
    top, bottom = figure.subplots(2, 1, sharex=True)
    _trajectories(top, prompts, series)
    top.set_ylabel("THS (more negative is better)")
    top.set_title("(a) THS by prompt, Baseline weighting, with cumulative cache hits")
    twin = top.twinx()
    twin.plot(prompts["promptid"], cache.cumulative(_hits(values, prompts)), color=GREY, lw=1.2)
    twin.set_ylabel("cumulative cache hits", color=GREY)
    twin.grid(visible=False)
    change = series["second"] - series["front"]
    colours = np.where(change < 0, GREEN, RED)
    bottom.bar(prompts["promptid"], change, width=1.0, color=colours)
    mean = values("table7", "ths_change", "Baseline", "step=first;subset=all")
    bottom.axhline(mean, color="black", ls="--", lw=1, label=f"mean {mean:+.4f}")
    falls = int((change < 0).sum())
    bottom.set(xlabel="prompt", ylabel="change of THS")
    bottom.set_title(f"(b) First to second agent: THS falls (green) on {falls} of {len(change)} prompts")
    bottom.legend(loc="lower left")
    return figure


def configurations(values: Values) -> Figure:
    """Figure 9: mean THS by stage under the five weightings; a row is compared only with itself."""
    figure = Figure(figsize=(8.5, 3.8))
    axes = figure.subplots()
    at = np.arange(len(WEIGHTINGS), dtype=np.float64)
    for i, stage in enumerate(STAGES):
        where = f"stage={stage};subset=all"
        means = [values("table7", "ths_mean", name, where) for name in WEIGHTINGS]
        _bars(axes, at + (i - 1) * 0.26, means, stage)
    axes.axhline(0, color="black", lw=0.8)
    axes.set_xticks(at, list(WEIGHTINGS))
    axes.set_ylabel("mean THS (more negative is better)")
    axes.set_title("Mean THS by stage and weighting (not comparable across weightings)")
    for bars in axes.containers:
        axes.bar_label(bars, fmt="{:+.4f}", fontsize=6.5, padding=1)  # type: ignore[arg-type]
    axes.legend(loc="lower left")
    return figure


def distribution(values: Values, prompts: pd.DataFrame, weighting: str) -> Figure:
    """Figures 10-14: (a) by prompt, (b) the two steps, (c) served or generated, (d) distribution by stage."""
    series = series_of(values, prompts, weighting)
    figure = Figure(figsize=(9.5, 7))
    panels = figure.subplots(2, 2)
    figure.suptitle(f"THS under {weighting} (more negative is better)")
    _trajectories(panels[0, 0], prompts, series)
    panels[0, 0].set(title="(a) by prompt", xlabel="prompt", ylabel="THS")
    _waterfall(panels[0, 1], values, weighting)
    _served(panels[1, 0], values, prompts, series["third"], weighting)
    for stage, data in series.items():
        ordered = np.sort(data)
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        panels[1, 1].step(
            ordered, share, LINES[stage], where="post", color=COLOURS[stage], label=NAMES[stage]
        )
    panels[1, 1].set(title="(d) cumulative distribution", xlabel="THS", ylabel="share of prompts")
    panels[1, 1].legend(loc="upper left")
    return figure


def series_of(values: Values, prompts: pd.DataFrame, weighting: str) -> dict[str, FloatArray]:
    """Per-prompt THS by stage, checked against the means of the results table.

    Raises:
        DataError: The two tables are not of one run.
    """
    out = {}
    for stage in STAGES:
        data = prompts[f"{weighting}_{stage}"].to_numpy(dtype=np.float64)
        mean = values("table7", "ths_mean", weighting, f"stage={stage};subset=all")
        if not np.isclose(data.mean(), mean, rtol=0, atol=1e-12):
            raise DataError(
                f"per-prompt table: {weighting}_{stage} averages {data.mean()}, results say {mean}"
            )
        out[stage] = data
    return out


def _hits(values: Values, prompts: pd.DataFrame) -> npt.NDArray[np.bool_]:
    hits = prompts[[f"{stage}_cache_hit" for stage in STAGES]].to_numpy(dtype=bool)
    expected = values("table5", "cache_hits", "all", "subset=all")
    if hits.sum() != expected:
        raise DataError(f"per-prompt table: {hits.sum()} cache hits, results say {expected:g}")
    return hits


def _bars(
    axes: Axes, at: FloatArray, heights: list[float], stage: str, errors: list[float] | None = None
) -> None:
    style: dict[str, Any] = {
        "color": COLOURS[stage],
        "hatch": HATCHES[stage],
        "edgecolor": "white",
        "label": NAMES[stage],
    }
    axes.bar(at, heights, width=0.26, yerr=errors, capsize=2.5, **style)
    axes.grid(visible=False, axis="x")


def _trajectories(axes: Axes, prompts: pd.DataFrame, series: Mapping[str, FloatArray]) -> None:
    for stage, data in series.items():
        axes.plot(prompts["promptid"], data, LINES[stage], color=COLOURS[stage], lw=0.8, label=NAMES[stage])
    axes.axhline(0, color="black", lw=0.6)
    together = np.concatenate(list(series.values()))
    lowest, highest = float(together.min()), float(together.max())
    axes.set_ylim(lowest - 0.25 * (highest - lowest), highest + 0.02)
    axes.legend(loc="lower center", ncols=3, fontsize=6.5, columnspacing=1.0, handlelength=1.6)


def _waterfall(axes: Axes, values: Values, weighting: str) -> None:
    levels = [values("table7", "ths_mean", weighting, f"stage={stage};subset=all") for stage in STAGES]
    steps = [values("table7", "ths_change", weighting, f"step={s};subset=all") for s in ("first", "second")]
    total = values("table7", "ths_change", weighting, "step=total;subset=all")
    axes.bar(0, levels[0], color=COLOURS["front"], width=0.6)
    for i, step in enumerate(steps):
        axes.bar(i + 1, step, bottom=levels[i], color=GREEN if step < 0 else RED, width=0.6)
    axes.bar(3, levels[2], color=COLOURS["third"], hatch=HATCHES["third"], edgecolor="white", width=0.6)
    span = max(*levels, 0.0) - min(*levels, 0.0)
    tops = [levels[0], *(max(pair) for pair in itertools.pairwise(levels)), levels[2]]
    for x, (top, number) in enumerate(zip(tops, [levels[0], *steps, levels[2]], strict=True)):
        above = max(top, 0.0) if x in (0, 3) or abs(top) < 0.05 * span else top
        axes.annotate(f"{number:+.4f}", (x, above), ha="center", va="bottom", fontsize=8)
    axes.axhline(0, color="black", lw=0.8)
    axes.set_ylim(min(*levels, 0.0) - 0.08 * span, max(*levels, 0.0) + 0.15 * span)
    axes.set_xticks(range(4), ["front level", "first review", "second review", "final level"])
    axes.set(title=f"(b) steps of the change, end to end {total:+.4f}", ylabel="mean THS")
    axes.grid(visible=False, axis="x")


def _served(axes: Axes, values: Values, prompts: pd.DataFrame, third: FloatArray, weighting: str) -> None:
    served = prompts["third_cache_hit"].to_numpy(dtype=bool)
    difference = values("appendixB", "cache_difference", weighting, "split=third;subset=all")
    groups = {"served from cache": third[served], "generated": third[~served]}
    labels = [f"{name} (n={len(data)}, mean {data.mean():+.4f})" for name, data in groups.items()]
    edges = list(np.linspace(third.min(), third.max(), 21))
    colours = [ORANGE, BLUE]
    counts, *_ = axes.hist(list(groups.values()), bins=edges, color=colours, label=labels)
    for data, colour in zip(groups.values(), colours, strict=True):
        axes.axvline(float(data.mean()), ymax=0.8, color=colour, ls="--", lw=1.5)
    axes.set_ylim(0, 1.3 * float(np.max(counts)))
    axes.set(
        title=f"(c) third stage, served minus generated {difference:+.5f}", xlabel="THS", ylabel="prompts"
    )
    axes.legend(loc="upper right", fontsize=7)

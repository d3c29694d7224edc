"""Figures that no paper has: how far five judges spread on the same texts, and where a run's time goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from faultline.errors import DataError
from faultline.reporting.figure_style import BLUE, GREEN, GREY, ORANGE, RED

MARKS = (("o", BLUE), ("s", ORANGE), ("^", GREEN), ("v", RED), ("D", GREY))
HATCHES = ("", "///", "...", "xx", "\\\\", "++")


def judge_spread(rows: pd.DataFrame) -> Figure:
    """Front-to-third change of each KPI by judge, and the range over judges (paper 3, Table 9, all five).

    Args:
        rows: Of ``ths_released``.

    Raises:
        DataError: The rows hold no change by judge.
    """
    total = rows[rows["metric"].eq("judge_change") & rows["condition"].str.endswith("step=total;subset=all")]
    if not len(total):
        raise DataError("results table: no change by judge; run +exp=ths_released again")
    kpis = [c.split(";")[0].removeprefix("kpi=") for c in dict.fromkeys(total["condition"])]
    figure = Figure(figsize=(7.5, 3.6))
    axes = figure.subplots()
    for at in range(len(kpis)):
        values = total[total["condition"].str.startswith(f"kpi={kpis[at]};")]["value"].astype(float)
        axes.vlines(at, values.min(), values.max(), color=GREY, linewidth=6, alpha=0.25)
    judges = list(dict.fromkeys(total["system"]))
    for i, judge in enumerate(judges):
        own = total[total["system"].eq(judge)].set_index("condition")["value"].astype(float)
        places = [kpis.index(c.split(";")[0].removeprefix("kpi=")) for c in own.index]
        shifted = np.array(places, dtype=np.float64) + (i - len(judges) / 2 + 0.5) * 0.1
        mark, colour = MARKS[i % len(MARKS)]
        axes.plot(shifted, own.to_numpy(), mark, color=colour, label=judge, markersize=6)
    axes.axhline(0, color=GREY, linewidth=1, linestyle="--")
    axes.set_xticks(range(len(kpis)), kpis)
    axes.set_ylabel("mean change, front to third stage")
    axes.set_title(f"The same texts, {len(judges)} judges (n = {int(total['n_scored'].max())} prompts)")
    axes.legend(ncols=len(judges), loc="upper center", bbox_to_anchor=(0.5, -0.12))
    return figure


def time_by_step(runs: Mapping[str, Mapping[str, float]]) -> Figure:
    """Seconds of each run by step, stacked; wall-clock on the machine that made it.

    Args:
        runs: Name to its ``timings.json``; steps are the entries that end in ``_s``.

    Raises:
        DataError: No run has a step.
    """
    timed = {name: _steps(timings) for name, timings in runs.items() if _steps(timings)}
    if not timed:
        raise DataError("no run has timings; run an experiment that computes something")
    steps = list(dict.fromkeys(step for parts in timed.values() for step in parts))
    figure = Figure(figsize=(7.5, 1.6 + 0.34 * len(timed)))
    axes = figure.subplots()
    colours: Sequence[str] = [colour for _, colour in MARKS]
    left = np.zeros(len(timed))
    for i, step in enumerate(steps):
        width = np.array([parts.get(step, 0.0) for parts in timed.values()])
        colour, hatch = colours[i % len(colours)], HATCHES[i % len(HATCHES)]
        axes.barh(
            range(len(timed)), width, left=left, label=step, edgecolor="white", color=colour, hatch=hatch
        )
        left += width
    axes.set_yticks(range(len(timed)), list(timed))
    axes.invert_yaxis()
    axes.set_xlabel("seconds, wall clock; what was in a cache took none")
    axes.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.35 if len(timed) < 3 else -0.2))
    return figure


def _steps(timings: Mapping[str, float]) -> dict[str, float]:
    return {name.removesuffix("_s"): float(v) for name, v in timings.items() if name.endswith("_s")}

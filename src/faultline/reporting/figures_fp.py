"""Figures of the paper 2 re-runs: depth curves, outcomes, cost against accuracy, suffix against position.

Every point is a row of a results table with its interval; nothing is computed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from faultline.errors import DataError
from faultline.reporting.figure_style import BLUE, GREEN, GREY, ORANGE, RED

DEFAULT = "pool=question;noise=0;trust=1"
"""The setting that figures show: own paragraphs, no noise, a reader that follows what it is told."""
RUNS = ("fp_structural", "fp_content", "fp_persistent", "fp_probe_order")
STUDIES = {
    "fp_structural": ("family=structural;scope=call", "structural, this call only"),
    "fp_content": ("family=content;scope=call", "content, this call only"),
    "fp_persistent": ("family=content;scope=corpus", "content, in the corpus"),
}


@dataclass(frozen=True, slots=True)
class Mark:
    """How a system is drawn."""

    label: str
    colour: str
    line: str
    point: str


SYSTEMS: Mapping[str, Mark] = {
    "changepoint": Mark("changepoint (ours)", BLUE, "-", "o"),
    "suffix_regen_latest": Mark("Suf-Regen, latest first", GREEN, "-", "s"),
    "suffix_regen": Mark("Suf-Regen (paper)", ORANGE, "--", "^"),
    "propagation_aware": Mark("Propagation-Aware (paper)", RED, "--", "v"),
    "jaccard_gate": Mark("coverage gate (paper)", GREY, ":", "x"),
    "sub_answer_coverage": Mark("sub-answer coverage", "black", ":", "+"),
}
SPENDING: Mapping[str, Mark] = {
    "changepoint_": SYSTEMS["changepoint"],
    "suffix_regen_latest_x": SYSTEMS["suffix_regen_latest"],
    "suffix_regen_random_x": Mark("Suf-Regen, random order", "#CC79A7", "-.", "D"),
    "suffix_regen_x": SYSTEMS["suffix_regen"],
    "propagation_aware_x": SYSTEMS["propagation_aware"],
}
OUTCOMES = {"resisted": (GREEN, ""), "absorbed": (RED, "///"), "derailed": (ORANGE, "...")}


def figures(runs: Mapping[str, pd.DataFrame]) -> dict[str, Callable[[], Figure]]:
    """Stem to a function that draws it, for the experiments that have run.

    Args:
        runs: Results tables by experiment, any of :data:`RUNS`.
    """
    drawn: dict[str, Callable[[], Figure]] = {}
    studied = {name: runs[name] for name in STUDIES if name in runs}
    if studied:
        drawn["depth_curves"] = lambda: depth_curves(studied)
        drawn["outcomes"] = lambda: outcomes(studied)
        drawn["suffix_or_position"] = lambda: suffix_or_position(studied)
    if "fp_probe_order" in runs:
        drawn["cost_accuracy"] = lambda: cost_accuracy(runs["fp_probe_order"])
    return drawn


def depth_curves(runs: Mapping[str, pd.DataFrame]) -> Figure:
    """Exact-hop accuracy over failed cases by injection depth, with 95 % intervals."""
    return _by(runs, "accuracy", "depth", "depth of the fault")


def outcomes(runs: Mapping[str, pd.DataFrame]) -> Figure:
    """What became of the injected cases, by depth: recovered, and of content faults also how they failed."""
    figure = Figure(figsize=(3.6 * len(runs) + 0.6, 3.6))
    panels = figure.subplots(1, len(runs), sharey=True, squeeze=False)[0]
    for axes, (name, table) in zip(panels, runs.items(), strict=True):
        where, title = STUDIES[name]
        content = "content" in where
        shown = list(OUTCOMES) if content else ["recovery"]
        bottom: dict[float, float] = {}
        for metric in shown:
            part = _values(table, "outcomes", metric, "depth", f"{where};{DEFAULT}")
            colour, hatch = OUTCOMES.get(metric, (GREEN, ""))
            base = [bottom.get(at, 0.0) for at in part["at"]]
            axes.bar(
                part["at"], part["value"], 0.6, base, color=colour, hatch=hatch, ec="white", label=metric
            )
            bottom = {at: b + v for at, b, v in zip(part["at"], base, part["value"], strict=True)}
        axes.set(title=title, xlabel="depth of the fault", ylim=(0, 1.02))
        axes.set_xticks(sorted(bottom))
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=3)
    panels[0].set_ylabel("share of injected cases")
    return figure


def suffix_or_position(runs: Mapping[str, pd.DataFrame]) -> Figure:
    """Exact-hop accuracy by the hops that FOLLOWED the fault: position and distance are not the same."""
    return _by(runs, "suffix", "suffix", "hops after the fault")


def _by(runs: Mapping[str, pd.DataFrame], table_name: str, axis: str, label: str) -> Figure:
    """A panel a study, exact-hop accuracy along an axis, with the failed cases under each tick."""
    figure = Figure(figsize=(3.6 * len(runs) + 0.6, 4.4))
    panels = figure.subplots(1, len(runs), sharey=True, squeeze=False)[0]
    for axes, (name, table) in zip(panels, runs.items(), strict=True):
        where, title = STUDIES[name]
        found = _values(table, table_name, "exact_hop", axis, f"{where};{DEFAULT}")
        _curves(axes, found, label)
        counts = found[found["system"] == "jaccard_gate"].set_index("at")["n_scored"]
        ticks = sorted(counts.index)
        axes.set_xticks(ticks, [f"{int(at)}\nn={counts[at]}" for at in ticks])
        axes.set_title(title)
    panels[0].set_ylabel("exact hop, failed cases")
    _legend(figure, panels[0])
    return figure


def cost_accuracy(table: pd.DataFrame) -> Figure:
    """Exact-hop accuracy against the tokens that a diagnosis took, content faults of one call, by noise."""
    where = "family=content;scope=call"
    noises = sorted(
        {_pairs(c)["noise"] for c in table["condition"] if "noise=" in c and "family=content" in c}, key=float
    )
    depths = sorted({_pairs(c)["depth"] for c in table["condition"] if c.startswith("depth=") and where in c})
    figure = Figure(figsize=(3.0 * len(depths) + 0.6, 2.5 * len(noises) + 0.8))
    panels = figure.subplots(len(noises), len(depths), sharex=True, sharey=True, squeeze=False)
    for row, noise in zip(panels, noises, strict=True):
        for axes, depth in zip(row, depths, strict=True):
            _spending(axes, table, f"depth={depth};{where};pool=question;noise={noise};trust=1")
            axes.set_title(f"depth {depth}, noise {noise}")
        row[0].set_ylabel("exact hop")
    for axes in panels[-1]:
        axes.set_xlabel("tokens a diagnosis (with placebos)")
    _legend(figure, panels[0][0])
    return figure


def _spending(axes: Axes, table: pd.DataFrame, condition: str) -> None:
    part = table[(table["condition"] == condition) & (table["table"] == "accuracy")]
    wide = part.pivot_table(index="system", columns="metric", values="value", aggfunc="first")
    ends = part[part["metric"] == "exact_hop"].set_index("system")
    spent = (wide["probe_tokens"] + wide["placebo_tokens"]).to_dict()
    for start, mark in SPENDING.items():
        names = [str(n) for n in wide.index if re.fullmatch(rf"{start}\d+", str(n))]
        names.sort(key=lambda name: float(spent[name]))
        if names:
            cost = np.array([spent[name] for name in names], dtype=np.float64)
            low, high, middle = (ends.loc[names, c].to_numpy(dtype=float) for c in ("low", "high", "value"))
            axes.plot(cost, middle, mark.line, color=mark.colour, marker=mark.point, ms=3.5, label=mark.label)
            axes.fill_between(cost, low, high, color=mark.colour, alpha=0.12, lw=0)
    axes.set_ylim(-0.03, 1.03)
    count = int(part["n_scored"].max()) if len(part) else 0
    axes.text(0.98, 0.04, f"n={count}", transform=axes.transAxes, ha="right", color=GREY)


def _curves(axes: Axes, found: pd.DataFrame, label: str) -> None:
    shown = [name for name in SYSTEMS if (found["system"] == name).any()]
    for i, name in enumerate(shown):
        part, mark = found[found["system"] == name].sort_values("at"), SYSTEMS[name]
        at = part["at"] + (i - (len(shown) - 1) / 2) * 0.06
        gaps = np.vstack([part["value"] - part["low"], part["high"] - part["value"]]).clip(0)
        style: dict[str, Any] = {"color": mark.colour, "marker": mark.point, "ls": mark.line}
        axes.errorbar(at, part["value"], gaps, ms=4, capsize=2, lw=1.2, label=mark.label, **style)
    axes.set(xlabel=label, ylim=(-0.03, 1.03))


def _values(table: pd.DataFrame, name: str, metric: str, axis: str, rest: str) -> pd.DataFrame:
    """Rows of a metric whose condition is ``axis=number`` beside exactly ``rest``; ``at`` is the number.

    Raises:
        DataError: There is none.
    """
    wanted = _pairs(rest)
    rows = table[(table["table"] == name) & (table["metric"] == metric)]
    told = [_pairs(c) for c in rows["condition"]]
    keep = [{k: v for k, v in t.items() if k != axis} == wanted and axis in t for t in told]
    found = rows[keep].assign(at=[float(t[axis]) for t, k in zip(told, keep, strict=True) if k])
    if found.empty:
        raise DataError(f"results table: no {name}/{metric} rows with {rest}; run the experiment as shipped")
    return found.sort_values("at")


def _pairs(condition: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in condition.split(";") if "=" in pair)


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(3, _columns(labels)))


def _columns(labels: Sequence[str]) -> int:
    return max(1, len(labels))

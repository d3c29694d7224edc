"""Paired differences with their intervals: one line a metric, the zero in sight."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from faultline.reporting.figure_style import BLUE, GREY, ORANGE

MOST = 40
"""Lines of one figure; the table has them all."""


def differences(table: pd.DataFrame, against: str) -> Figure:
    """Differences of paired lines; what Holm leaves below .05 is filled and orange.

    Args:
        table: Of :func:`faultline.reporting.comparison.paired`, with a column ``side``.
        against: Name of the first side.
    """
    shown = table[table["difference"].notna()].head(MOST).iloc[::-1]
    figure = Figure(figsize=(8, 1.2 + 0.26 * max(1, len(shown))))
    axes = figure.subplots()
    at = np.arange(len(shown))
    value = shown["difference"].to_numpy(dtype=float)
    low = shown["low"].astype(float).fillna(shown["difference"].astype(float)).to_numpy()
    high = shown["high"].astype(float).fillna(shown["difference"].astype(float)).to_numpy()
    clear = shown["p_holm"].to_numpy(dtype=float) < 0.05
    for colour, filled, lines in ((ORANGE, ORANGE, clear), (BLUE, "none", ~clear)):
        axes.hlines(at[lines], low[lines], high[lines], color=colour, linewidth=1.6)
        axes.scatter(value[lines], at[lines], s=26, zorder=3, facecolors=filled, edgecolors=colour)
    axes.axvline(0, color=GREY, linewidth=1, linestyle="--")
    labels = [f"{r.side}: {r.metric} {r.system}\n{r.condition}" for r in shown.itertuples()]
    axes.set_yticks(at, labels, fontsize=6.5)
    axes.set_ylim(-0.8, max(0.8, len(shown) - 0.2))
    axes.set_xlabel(f"difference from {against}, 95 % interval; filled: Holm-corrected p < .05")
    if not len(shown):
        axes.text(0.5, 0.5, "no paired line", transform=axes.transAxes, ha="center")
    return figure

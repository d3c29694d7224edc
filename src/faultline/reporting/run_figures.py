"""A figure for every table of a run: values with their intervals, as they stand in the results table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from faultline.reporting.figure_style import BLUE, GREY, save, style

MOST = 40
"""Rows in one figure; the title says of how many."""
LABEL = ("metric", "system", "dataset", "condition", "backbone")


def draw(table: pd.DataFrame, folder: Path) -> list[Path]:
    """Draw every table that has rates with intervals, into ``folder``.

    Args:
        table: The results table of a run.
        folder: Of the run's figures; made if something is drawn.

    Returns:
        The bitmaps, one a table; each has a PDF beside it.
    """
    drawn = []
    with style():
        for name, rows in table.groupby("table", sort=True):
            shown = rows[(rows["unit"] == "rate") & rows[["value", "low", "high"]].notna().all(axis=1)]
            if len(shown):
                stem = "table_" + "".join(c if c.isalnum() else "_" for c in str(name))
                drawn.append(save(intervals(str(name), shown), folder, stem)[0])
    return drawn


def intervals(name: str, rows: pd.DataFrame) -> Figure:
    """Values with intervals, one line a row, the first row on top; rows beyond ``MOST`` are counted.

    Args:
        name: Of the table.
        rows: With value, low and high, as rates in [0, 1].
    """
    shown = rows.head(MOST)
    labels = _labels(shown)
    longest = max(len(label) for label in labels)
    figure = Figure(figsize=(4.5 + 0.07 * longest, 1.2 + 0.24 * len(shown)))
    axes = figure.subplots()
    for at, row in enumerate(shown.to_dict("records")):
        axes.plot([100 * row["low"], 100 * row["high"]], [at, at], color=GREY, linewidth=1.2)
        axes.plot([100 * row["value"]], [at], "o", color=BLUE, markersize=4)
        axes.annotate(f"n={row['n_scored']}", (1.01, at), xycoords=("axes fraction", "data"), va="center")
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(-2, 102)
    axes.set_xlabel("percent, with the interval of the results table")
    of = f" (first {len(shown)} of {len(rows)} rows)" if len(rows) > len(shown) else ""
    axes.set_title(f"Table {name}{of}")
    return figure


def _labels(rows: pd.DataFrame) -> list[str]:
    """What tells the rows apart: the columns and the parts of the condition that are not all the same."""
    varying = [c for c in LABEL if rows[c].nunique() > 1] or ["metric"]
    parts = [set(str(c).split(";")) for c in rows["condition"]]
    common = set.intersection(*parts) if len(parts) > 1 else set()
    made = []
    for row in rows.to_dict("records"):
        told = [str(row[c]) for c in varying if c != "condition"]
        if "condition" in varying:
            told += [part for part in str(row["condition"]).split(";") if part not in common]
        made.append(", ".join(part for part in told if part))
    return made

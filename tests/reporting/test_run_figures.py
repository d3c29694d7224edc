"""Figures of a run: one a table with intervals, as the table says, and the same bytes again."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from faultline import results
from faultline.reporting.run_figures import MOST, draw, intervals
from faultline.results import Row


def table(rows: int, name: str = "VI", unit: str = "rate", low: float | None = 0.1) -> pd.DataFrame:
    made = [
        Row(
            "charm", "e", name, f"m{i}", "charm", "d", f"fault=none;trust={i}", "reader", "n", "m", False,
            0.5, low, 0.9, unit, 10 + i, 10 + i, 0, "",
        )
        for i in range(rows)
    ]  # fmt: skip
    return results.frame(made)


def test_every_table_with_intervals_is_drawn(tmp_path: Path) -> None:
    both = pd.concat(
        [table(2), table(2, "cost", "usd"), table(2, "types/x"), table(1, "none", low=None)]
    ).reset_index(drop=True)
    drawn = draw(both, tmp_path / "figures")
    assert [p.name for p in drawn] == ["table_VI.png", "table_types_x.png"]
    assert all(p.read_bytes()[:4] == b"\x89PNG" and p.with_suffix(".pdf").exists() for p in drawn)
    before = [p.read_bytes() for p in drawn]
    assert [p.read_bytes() for p in draw(both, tmp_path / "again")] == before


def test_nothing_to_draw_makes_no_folder(tmp_path: Path) -> None:
    assert draw(table(2, unit="usd"), tmp_path / "figures") == []
    assert not (tmp_path / "figures").exists()


def test_points_labels_and_counts_are_those_of_the_rows() -> None:
    figure = intervals("VI", table(3))
    [axes] = figure.axes
    dots = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
    ends = [tuple(line.get_xdata()) for line in axes.lines if line.get_marker() != "o"]
    assert dots == [50.0] * 3
    assert ends == [(pytest.approx(10.0), pytest.approx(90.0))] * 3
    assert [t.get_text() for t in axes.get_yticklabels()] == ["m0, trust=0", "m1, trust=1", "m2, trust=2"]
    assert [t.get_text() for t in axes.texts] == ["n=10", "n=11", "n=12"]


def test_what_is_left_out_is_said() -> None:
    assert (
        intervals("VI", table(MOST + 5)).axes[0].get_title() == f"Table VI (first {MOST} of {MOST + 5} rows)"
    )

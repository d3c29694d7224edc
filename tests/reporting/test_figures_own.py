"""Our own figures show the numbers that they are given."""

from __future__ import annotations

import pandas as pd
import pytest

from faultline.errors import DataError
from faultline.reporting import figures_own


def rows() -> pd.DataFrame:
    made = [
        {"metric": "judge_change", "system": judge, "condition": f"kpi={kpi};step={step};subset=all"}
        | {"value": value + i, "n_scored": 310}
        for i, judge in enumerate(("l-orig", "q-spec"))
        for kpi, value in (("FCD", 0.1), ("ECS", -0.2))
        for step in ("first", "total")
    ]
    return pd.DataFrame(made)


def test_each_judge_is_a_series_of_its_values():
    (axes,) = figures_own.judge_spread(rows()).axes
    series = {
        line.get_label(): line.get_ydata().tolist() for line in axes.lines if line.get_label() != "_child4"
    }
    assert series["l-orig"] == [0.1, -0.2]
    assert series["q-spec"] == pytest.approx([1.1, 0.8])
    assert [t.get_text() for t in axes.get_xticklabels()] == ["FCD", "ECS"]


def test_time_is_stacked_and_only_steps_count():
    (axes,) = figures_own.time_by_step(
        {"a": {"nli_s": 2.0, "embed_s": 1.0, "lo_ms": 9.0}, "b": {"nli_s": 3.0}}
    ).axes
    assert sum(patch.get_width() for patch in axes.patches) == 6.0
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b"]


def test_nothing_to_draw_is_one_line():
    with pytest.raises(DataError, match="no change by judge"):
        figures_own.judge_spread(rows().iloc[:0])
    with pytest.raises(DataError, match="no run has timings"):
        figures_own.time_by_step({"a": {"lo_ms": 1.0}})

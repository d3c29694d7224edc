"""Comparison statistics against other libraries, and what must never be called paired."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import permutation_test
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from faultline.reporting import comparison
from faultline.reporting.comparison import Side
from faultline.reporting.units import COLUMNS


def side(name: str, values: dict[str, list[float]], start: int = 0, per_question: int = 1) -> Side:
    rows = [
        (f"u{i}", f"q{i // per_question}", metric, "charm", "c", float(v))
        for metric, some in values.items()
        for i, v in enumerate(some, start)
    ]
    return Side(name, {}, pd.DataFrame(), pd.DataFrame(rows, columns=list(COLUMNS)))


def draws(seed: int, n: int = 60, lift: float = 0.0) -> list[float]:
    return (np.random.default_rng(seed).random(n) < 0.4 + lift).astype(float).tolist()


def test_binary_outcomes_by_mcnemar_and_holm_as_in_statsmodels():
    metrics = [f"m{i}" for i in range(4)]
    a = side("a", {m: draws(i) for i, m in enumerate(metrics)})
    b = side("b", {m: draws(i + 100, lift=0.1 * i) for i, m in enumerate(metrics)})
    table = comparison.paired(a, b).set_index("metric")
    expected = []
    for metric in metrics:
        x = a.units.query("metric == @metric")["value"].to_numpy()
        y = b.units.query("metric == @metric")["value"].to_numpy()
        counts = [[((x == i) & (y == j)).sum() for j in (0, 1)] for i in (0, 1)]
        expected.append(mcnemar(counts, exact=True).pvalue)
        assert table.loc[metric, "difference"] == pytest.approx(y.mean() - x.mean())
        assert table.loc[metric, "low"] < table.loc[metric, "difference"] < table.loc[metric, "high"]
    assert table.loc[metrics, "p"].tolist() == pytest.approx(expected)
    assert table.loc[metrics, "p_holm"].tolist() == pytest.approx(multipletests(expected, method="holm")[1])
    assert set(table["test"]) == {"McNemar, exact"}


def test_clustered_scores_by_sign_flips_as_in_scipy():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=40), rng.normal(0.45, 1, size=40)
    table = comparison.paired(
        side("a", {"s": x.tolist()}, per_question=4), side("b", {"s": y.tolist()}, per_question=4)
    )
    sums = (y - x).reshape(10, 4).sum(axis=1)
    exact = permutation_test(
        (sums, np.zeros(10)),
        lambda a, b, axis: (a - b).sum(axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert table["test"].item() == "sign flips by question"
    assert table["p"].item() == pytest.approx(exact.pvalue, abs=0.015)


def test_unmatched_sets_are_not_called_paired():
    a, b = side("a", {"m": draws(1)}), side("b", {"m": draws(2)}, start=3)
    line = comparison.paired(a, b).iloc[0]
    assert line["note"] == "not paired: 57 of 63 cases are in both"
    assert pd.isna(line["p"]) and pd.isna(line["difference"]) and pd.isna(line["p_holm"])
    assert (line["n"], line["only_a"], line["only_b"]) == (57, 3, 3)
    asked = comparison.paired(a, b, common=True).iloc[0]
    assert asked["n"] == 57 and asked["p"] <= 1 and asked["note"] == ""
    assert asked["a"] == pytest.approx(np.mean(draws(1)[3:]))


def test_nothing_in_common_and_nothing_at_all():
    a = side("a", {"m": draws(1)})
    line = comparison.paired(a, side("b", {"other": draws(1)}))
    assert line["note"].tolist() == ["not paired: no case in common"] * 2
    assert len(comparison.paired(a, Side("b", {}, pd.DataFrame()))) == 1
    assert len(comparison.paired(Side("a", {}, pd.DataFrame()), Side("b", {}, pd.DataFrame()))) == 0


def test_equal_sides_differ_in_nothing():
    a, b = side("a", {"m": draws(1)}), side("b", {"m": draws(1)})
    line = comparison.paired(a, b).iloc[0]
    assert (line["difference"], line["p"], line["low"], line["high"]) == (0.0, 1.0, 0.0, 0.0)
    assert len(comparison.disagreements(a, b)) == 0


def test_disagreements_are_named_case_by_case():
    table = comparison.disagreements(side("a", {"m": [0, 1, 1]}), side("b", {"m": [1, 1, 0]}))
    assert table[["unit", "a", "b"]].to_numpy().tolist() == [["u0", 0.0, 1.0], ["u2", 1.0, 0.0]]


def rows(value: float | None, low: float | None = None) -> pd.DataFrame:
    named = {"table": "VI", "metric": "cdr", "system": "charm", "dataset": "d", "condition": "c"}
    return pd.DataFrame(
        [
            {
                **named,
                "value": value,
                "low": low,
                "high": None if low is None else 1.0,
                "n_scored": 3,
                "n_total": 4,
            }
        ]
    )


def test_values_and_repeats():
    sides = [Side("a", {}, rows(0.25, 0.1)), Side("b", {}, rows(0.75)), Side("c", {}, rows(None))]
    assert comparison.values(sides).iloc[0][["a", "b", "c"]].tolist() == [
        "0.25 [0.1, 1] n=3",
        "0.75 n=3",
        "missing",
    ]
    found = comparison.repeats(sides[:2]).iloc[0]
    assert found["mean"] == 0.5
    assert found["sd"] == pytest.approx(np.std([0.25, 0.75], ddof=1))


def test_config_differences_name_the_key_and_leave_out_what_no_number_depends_on():
    a = Side("a", {"charm": {"trigger": {"theta": 0.55}}, "runs_dir": "x", "seed": 0}, rows(1.0))
    b = Side(
        "b", {"charm": {"trigger": {"theta": 0.4, "strict": True}}, "runs_dir": "y", "seed": 0}, rows(1.0)
    )
    found = comparison.config_differences([a, b])
    assert found.to_numpy().tolist() == [
        ["charm.trigger.strict", "–", True],
        ["charm.trigger.theta", 0.55, 0.4],
    ]

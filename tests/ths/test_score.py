import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from faultline.ths import score

KPI_ROWS = arrays(np.float64, (7, 5), elements=st.floats(0, 1))
WEIGHTS = st.lists(st.floats(0.01, 1), min_size=5, max_size=5)


def literal(row, weights, agents=3):
    w1, w2, w3, w4, w5 = weights
    fcd, fgr, fdf, ecs, osr = row
    return (w1 * fcd + w2 * fgr - w3 * fdf - w4 * ecs - w5 * osr) / (agents * (w1 + w2 + w3 + w4 + w5))


@given(KPI_ROWS, WEIGHTS)
def test_equation_1_against_the_formula_written_out(rows, weights):
    assert score.ths(rows, weights) == pytest.approx([literal(row, weights) for row in rows], abs=1e-12)


@given(KPI_ROWS, KPI_ROWS, WEIGHTS)
def test_the_parts_sum_to_the_change_by_step_and_end_to_end(before, after, weights):
    middle = (before + after) / 2
    change = score.ths(after, weights) - score.ths(before, weights)
    whole = score.contributions(before, after, weights)
    steps = score.contributions(before, middle, weights) + score.contributions(middle, after, weights)
    assert whole.sum(axis=1) == pytest.approx(change, abs=1e-12)
    assert steps == pytest.approx(whole, abs=1e-12)


@given(WEIGHTS)
def test_the_range_is_a_third_wide_and_reached_at_the_corners(weights):
    low, high = score.attainable_range(weights)
    assert high - low == pytest.approx(1 / 3)
    assert score.ths([0, 0, 1, 1, 1], weights) == pytest.approx(low)
    assert score.ths([1, 1, 0, 0, 0], weights) == pytest.approx(high)


def test_hand_worked_example():
    # (.25*.4 + .25*.2 - .25*.1 - .25*.5) / 3
    assert score.ths([0.4, 0.2, 0.1, 0.5, 0.9], score.FOUR_KPI) == pytest.approx(0.0)
    assert score.range_share(-0.02, score.FOUR_KPI) == pytest.approx(0.06)


@given(arrays(np.float64, 5, elements=st.floats(0, 1)), arrays(np.float64, 5, elements=st.floats(0, 1)))
def test_the_crossing_is_where_the_change_is_zero(before, after):
    found = score.crossing(before, after)
    if found.w5 is None:
        ends = found.change_at_zero, found.change_at_one
        assert min(ends) > 0 or max(ends) < 0 or ends[0] == ends[1]
    else:
        terms = score.contributions(before, after, score.weights_with_osr(found.w5))
        assert terms.sum() == pytest.approx(0.0, abs=1e-12)


def test_shares_of_nothing_are_undefined():
    assert score.shares([0.1, -0.1, 0.0, 0.0, 0.0]) is None
    assert score.shares([0.1, 0.1, 0.0, 0.0, 0.0]).tolist() == [0.5, 0.5, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("weights", [(1, 1, 1, 1), (0, 0, 0, 0, 0), (-1, 1, 1, 1, 1)])
def test_broken_weights_are_refused(weights):
    with pytest.raises(ValueError, match="weights"):
        score.ths([0, 0, 0, 0, 0], weights)


def test_a_missing_kpi_is_refused():
    with pytest.raises(ValueError, match="kpis"):
        score.ths([0, 0, 0, 0], score.FOUR_KPI)

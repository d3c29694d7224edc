import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from faultline.ths import alignment


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=4, max_size=40))
def test_spearman_against_scipy(pairs):
    x, y = np.array(pairs, dtype=float).T
    found = alignment.spearman(x, y)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert (found.rho, found.p) == (None, None)
    else:
        reference = spearmanr(x, y)
        assert found.rho == pytest.approx(reference.statistic)
        assert found.p == pytest.approx(reference.pvalue, abs=1e-9)


def test_a_constant_judge_is_undefined_not_zero():
    assert alignment.spearman([0.5] * 9, range(9)) == alignment.Correlation(None, None, 9)


def test_missing_scores_are_left_out():
    found = alignment.spearman([0.1, np.nan, 0.3, 0.9, 0.2], [0, 4, 1, 3, 2])
    assert found.n == 4
    assert found.rho == pytest.approx(spearmanr([0.1, 0.3, 0.9, 0.2], [0, 1, 3, 2]).statistic)


def test_means_by_code_and_gap():
    scores, codes = [1.0, 0.5, 0.25, 0.0, np.nan], [0, 1, 3, 4, 4]
    assert alignment.mean_by_code(scores, codes) == {0: (1.0, 1), 1: (0.5, 1), 3: (0.25, 1), 4: (0.0, 1)}
    assert alignment.endorsement_gap(scores, codes, (3, 4), (0, 1)) == pytest.approx(0.125 - 0.75)
    assert alignment.endorsement_gap([1.0], [2], (3, 4), (0, 1)) is None


def test_identical_texts_scored_apart():
    assert alignment.inconsistent_groups([1, 1, 2, 3, 9], ["a", "a", "b", "b", "c"]) == (1, 2)

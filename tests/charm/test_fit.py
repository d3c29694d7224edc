import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from faultline.charm.decide import CharmSettings
from faultline.charm.fit import NOTHING, auroc, conformal_theta, detected, least_clean, peaks, profile
from faultline.charm.grid import Axes, search
from faultline.errors import ConfigError, DataError
from tests.charm.cases import random_scores


def test_peaks_by_a_literal_loop():
    rng = np.random.default_rng(0)
    p = np.where(rng.random((40, 5)) < 0.2, np.nan, rng.random((40, 5)))
    injected = rng.integers(0, 6, 40)
    found = peaks(p, injected, (0, 1))
    for row in range(40):
        i = injected[row]
        stages = range(1, 6) if i == 0 else [s for s in (i, i + 1) if s <= 5]
        values = [p[row, s - 1] for s in stages if not np.isnan(p[row, s - 1])]
        assert found[row] == (max(values) if values else NOTHING)
    assert peaks(np.full((1, 3), np.nan), np.array([0]))[0] == NOTHING
    with pytest.raises(DataError, match="peaks"):
        peaks(p, injected[:3])


@pytest.mark.parametrize(("alpha", "n"), [(0.05, 19), (0.1, 9), (0.2, 4), (1.0, 1)])
def test_a_conformal_threshold_needs_enough_clean_cases(alpha, n):
    assert least_clean(alpha) == n
    assert conformal_theta(np.arange(n, dtype=float), alpha) <= n - 1
    with pytest.raises(DataError, match=f"{n} are needed; add train data"):
        conformal_theta(np.arange(n - 1, dtype=float), alpha)


def test_the_conformal_rank_is_the_textbooks():
    """n = 99, alpha = .05: the 95th smallest (100 * .95); n = 19: the largest."""
    values = np.random.default_rng(1).permutation(99).astype(float)
    assert conformal_theta(values, 0.05) == 94.0
    assert conformal_theta(np.arange(19.0), 0.05) == 18.0
    for alpha in (0.0, 1.5, float("nan")):
        with pytest.raises(ConfigError, match="alpha"):
            conformal_theta(values, alpha)


def test_the_guarantee_holds_over_many_draws():
    rng = np.random.default_rng(2)
    drawn = rng.exponential(size=(4000, 31))
    rate = np.mean([case[-1] > conformal_theta(case[:-1], 0.1) for case in drawn])
    assert rate == pytest.approx(1 - 28 / 31, abs=0.015)
    assert rate <= 0.1 + 0.01


def test_a_profile_is_the_cheapest_cell():
    scores = random_scores(3, 60)
    injected = np.random.default_rng(4).integers(0, 3, 60)
    grid = search(scores, injected, CharmSettings(), Axes(theta=(0.2, 0.4, 0.6)))
    for miss in (0.2, 1.0, 5.0):
        cells = {
            i: miss * (1 - grid.detected[i]) + grid.false_alarms[i] for i in np.ndindex(grid.detected.shape)
        }
        assert cells[profile(grid, miss)] == min(cells.values())
    safe, cheap = grid.detected[profile(grid, 5.0)], grid.detected[profile(grid, 0.2)]
    assert safe >= cheap
    with pytest.raises(ConfigError, match="miss_cost"):
        profile(grid, 0.0)


def test_auroc_against_sklearn_and_its_interval_against_plain_resamples():
    rng = np.random.default_rng(5)
    hit, base = np.round(rng.normal(0.7, 1, 60), 1), np.round(rng.normal(0, 1, 45), 1)
    ours = auroc(hit, base, np.arange(60), 60 + np.arange(45), rng)
    labels = np.r_[np.ones(60), np.zeros(45)]
    values = np.r_[hit, base]
    assert ours.value == pytest.approx(roc_auc_score(labels, values))
    plain = []
    for _ in range(400):
        pick = rng.integers(0, 105, 105)
        plain.append(roc_auc_score(labels[pick], values[pick]))
    assert (ours.low, ours.high) == pytest.approx(tuple(np.quantile(plain, [0.025, 0.975])), abs=0.03)
    assert auroc(hit[:0], base, np.arange(0), np.arange(45), rng).value is None


def test_a_threshold_is_strict_or_not():
    peak = np.array([0.4, 0.5, NOTHING])
    assert detected(peak, 0.5, strict=False).tolist() == [False, True, False]
    assert not detected(peak, 0.5, strict=True).any()

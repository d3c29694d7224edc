import numpy as np
import pytest
from sklearn.metrics import f1_score

from faultline.charm.decide import CharmSettings, decide
from faultline.charm.grid import Axes, search, simplex
from faultline.charm.metrics import cdr, fpr
from faultline.errors import ConfigError, DataError
from tests.charm.cases import random_scores

AXES = Axes(
    theta=(0.3, 0.5, 0.7), drift_threshold=(0.1, 0.4), tau=(0.5, 0.9), weights=((0.4, 0.4, 0.2), (1.0, 0, 0))
)


@pytest.mark.parametrize("window", [(-100, 1), (0, 1)])
@pytest.mark.parametrize("kind", ["deficit", "step"])
def test_every_cell_is_what_decide_and_the_metrics_say(window, kind):
    from dataclasses import replace

    from faultline.charm.sfv import SfvSettings

    scores = random_scores(1, 60)
    injected = np.random.default_rng(2).integers(0, 4, 60)
    base = replace(CharmSettings(), sfv=SfvSettings(map=kind))
    grid = search(scores, injected, base, AXES, window=window)
    assert grid.f1.shape == (2, 2, 2, 3)
    for index in np.ndindex(grid.f1.shape):
        flagged = decide(scores, grid.at(index, base)).flagged
        hit = flagged[injected > 0]
        stages = np.arange(1, 6)
        i = injected[injected > 0][:, None]
        counted = (stages >= i + window[0]) & (stages <= i + window[1])
        assert grid.detected[index] == pytest.approx((hit & counted).any(axis=1).mean())
        assert grid.false_alarms[index] == pytest.approx(fpr(flagged[injected == 0]).value)


def test_the_strict_window_is_the_papers_cdr():
    scores = random_scores(3, 50)
    injected = np.random.default_rng(4).integers(0, 3, 50)
    grid = search(scores, injected, CharmSettings(), AXES)
    index = (0, 1, 0, 1)
    flagged = decide(scores, grid.at(index, CharmSettings())).flagged
    assert grid.detected[index] == pytest.approx(cdr(flagged[injected > 0], injected[injected > 0]).value)


def test_f1_is_of_cdr_and_specificity():
    """The harmonic mean of two rates is what sklearn calls F1 for those precision and recall."""
    scores = random_scores(5, 50)
    injected = np.random.default_rng(6).integers(0, 3, 50)
    grid = search(scores, injected, CharmSettings(), AXES)
    p, r = grid.detected[0, 0, 0, 0], 1 - grid.false_alarms[0, 0, 0, 0]
    # 1000 positives; recall r of them found, precision p
    found = round(1000 * r)
    extra = round(found / p) - found
    true = np.r_[np.ones(1000), np.zeros(extra)]
    said = np.r_[np.ones(found), np.zeros(1000 - found), np.ones(extra)]
    assert grid.f1[0, 0, 0, 0] == pytest.approx(f1_score(true, said), abs=2e-3)


def test_simplex_counts_and_sums():
    assert len(simplex(0.1)) == 66
    assert all(abs(sum(w) - 1) < 1e-12 for w in simplex(0.05))
    with pytest.raises(ConfigError, match="fraction of 1"):
        simplex(0.3)


def test_a_grid_needs_both_kinds():
    scores = random_scores(7, 5)
    with pytest.raises(DataError, match="injected and clean"):
        search(scores, np.ones(5, dtype=int), CharmSettings(), AXES)
    with pytest.raises(DataError, match="shape"):
        search(scores, np.ones(4, dtype=int), CharmSettings(), AXES)

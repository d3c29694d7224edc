import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from faultline.grounding import measures


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=40))
def test_auc_is_scikit_learns(cases):
    scores, positive = zip(*cases, strict=True)
    if len(set(positive)) == 1:
        assert measures.auc(scores, positive) is None
    else:
        assert measures.auc(scores, positive) == pytest.approx(roc_auc_score(positive, scores))


def test_the_auc_interval_holds_the_point_and_narrows_with_n():
    rng = np.random.default_rng(0)
    widths = []
    for n in (60, 2000):
        positive = np.arange(n) % 2 == 0
        found = measures.auc_interval(rng.normal(size=n) + positive, positive, "test")
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.value <= found.high
        widths.append(found.high - found.low)
    assert widths[1] < widths[0] / 3


def test_calibration_error_by_a_literal_loop():
    rng = np.random.default_rng(1)
    sure, right = rng.random(500), rng.random(500) < 0.4
    total = 0.0
    for b in range(15):
        inside = [i for i in range(500) if b / 15 < sure[i] <= (b + 1) / 15]
        if inside:
            gap = np.mean([right[i] for i in inside]) - np.mean([sure[i] for i in inside])
            total += len(inside) / 500 * abs(gap)
    assert measures.calibration_error(sure, right) == pytest.approx(total)


def test_calibration_error_is_torchmetrics():
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    rng = np.random.default_rng(2)
    p = rng.random(300)
    y = rng.random(300) < p
    # torchmetrics' binary error bins P(positive) itself.
    reference = binary_calibration_error(torch.tensor(p), torch.tensor(y.astype(int)), n_bins=15, norm="l1")
    assert measures.calibration_error(p, y) == pytest.approx(float(reference), abs=1e-5)


def test_nothing_scored_is_undefined():
    assert measures.calibration_error([], []) is None
    assert measures.accuracy([], []).value is None


def test_forced_choice_ignores_neutral():
    probs = np.array([[0.2, 0.7, 0.1], [0.1, 0.7, 0.2]])
    assert measures.forced_two_way(probs).tolist() == [0, 2]

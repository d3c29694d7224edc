import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.special import logit as scipy_logit

from faultline.charm.cpm import MAPS, MONITORS, CpmSettings, calibrated, cpm_signal, uses_contradiction
from faultline.charm.sfv import ANCHORS

from . import reference
from .cases import plain_scores, random_scores


@pytest.mark.parametrize("monitor", MONITORS)
@pytest.mark.parametrize("kind", MAPS)
@given(
    seed=st.integers(0, 2**32),
    anchor=st.sampled_from(ANCHORS),
    delta=st.floats(0, 0.9),
    temperature=st.floats(0.3, 4),
    prior=st.tuples(st.floats(0.01, 20), st.floats(0.01, 20)),
)
def test_against_the_loop(monitor, kind, seed, anchor, delta, temperature, prior):
    scores = random_scores(seed, 4)
    settings = CpmSettings(monitor, kind, delta, temperature, prior, cusum_h=0.4)
    expected = reference.as_numbers([reference.cpm(scores, t, settings, anchor) for t in range(4)])
    signal = cpm_signal(scores, settings, anchor)
    np.testing.assert_allclose(signal, expected, rtol=0, atol=1e-9)
    assert np.nanmin(signal, initial=0.0) >= 0
    assert np.nanmax(signal, initial=0.0) <= 1


def flags(confidence, **options):
    scores = plain_scores([[0.5] * 5], [[0.5] * 5], confidence)
    return np.flatnonzero(cpm_signal(scores, CpmSettings(map="step", **options))[0]) + 1


def test_finding_5_a_confident_stage_fires():
    """Beta(2,2), Delta .15, T 1.4: .8 is calibrated to .729 and exceeds mu = .5, .546, .576 by more than .15,
    but not .598; .9 (.828) exceeds mu at all five stages.
    """
    np.testing.assert_allclose(calibrated(np.array([0.8, 0.9]), 1.4), [0.72913, 0.82770], atol=1e-5)
    assert flags(0.8).tolist() == [1, 2, 3]
    for confidence in (0.9, 0.95, 0.99, 1.0):
        assert flags(confidence).tolist() == [1, 2, 3, 4, 5]


def test_the_margin_by_hand():
    """Stage 1 at .9: (.8277 - .5 - .15) / (1 - .15 - .5) = .5077; stage 2: mu = 2.8277 / 5 = .56554."""
    scores = plain_scores([[0.5] * 5], [[0.5] * 5], 0.9)
    signal = cpm_signal(scores, CpmSettings())[0]
    p = 0.9 ** (1 / 1.4) / (0.9 ** (1 / 1.4) + 0.1 ** (1 / 1.4))
    assert signal[0] == pytest.approx((p - 0.65) / 0.35, abs=1e-12)
    mu = (2 + p) / 5
    assert signal[1] == pytest.approx((p - mu - 0.15) / (0.85 - mu), abs=1e-12)
    assert signal[:2] == pytest.approx([0.5077, 0.3945], abs=5e-4)


def test_calibration_against_scipy():
    raw = np.array([[0.0, 0.3, 0.5], [0.8, 1.0, math.nan]])
    expected = expit(scipy_logit(np.clip(raw, 0.01, 0.99)) / 1.4)
    np.testing.assert_allclose(calibrated(raw, 1.4), expected, rtol=1e-14)
    np.testing.assert_allclose(calibrated(raw, 1.0), np.clip(raw, 0.01, 0.99), rtol=1e-14)


def test_the_other_monitors_by_hand():
    """Confidence .5, .5, .9, .9, .9 at T = 1."""
    run = [0.5, 0.5, 0.9, 0.9, 0.9]
    assert flags(run, monitor="difference", temperature=1.0).tolist() == [3]
    assert flags(run, monitor="ewma", temperature=1.0).tolist() == [3, 4, 5]
    # Sums .0, .0, .325, .65, .975 against .9.
    assert flags(run, monitor="cusum", temperature=1.0).tolist() == [5]


def test_the_contradiction_fallback_by_hand():
    """Contradiction .35, .61, 1: the margins above .35 are 0, .26 / .65 = .4, 1; the steps 0, 1, 1."""
    scores = plain_scores([[0.0] * 3], [[0.9] * 3], np.nan, [[0.35, 0.61, 1.0]])
    assert uses_contradiction(scores, CpmSettings()).tolist() == [True]
    np.testing.assert_allclose(cpm_signal(scores, CpmSettings())[0], [0, 0.4, 1], atol=1e-15)
    np.testing.assert_array_equal(cpm_signal(scores, CpmSettings(map="step"))[0], [0, 1, 1])


def test_the_fallback_is_decided_by_the_row_alone():
    scores = plain_scores(
        [[0.1] * 3] * 2, [[0.9] * 3] * 2, [[0.9, np.nan, 0.9], [np.nan] * 3], [[0.8] * 3] * 2
    )
    assert uses_contradiction(scores, CpmSettings()).tolist() == [False, True]
    signal = cpm_signal(scores, CpmSettings())
    assert np.isnan(signal[0]).tolist() == [False, True, False]
    assert np.isfinite(signal[1]).all()


def test_a_stage_without_confidence_leaves_the_expectation_alone():
    gap = plain_scores([[0.5] * 3], [[0.5] * 3], [[0.7, np.nan, 0.9]])
    straight = plain_scores([[0.5] * 2], [[0.5] * 2], [[0.7, 0.9]])
    for monitor in ("beta", "difference", "ewma", "cusum"):
        settings = CpmSettings(monitor, cusum_h=0.1)
        assert cpm_signal(gap, settings)[0, 2] == cpm_signal(straight, settings)[0, 1]

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.charm.csct import MAPS, REFERENCES, CsctSettings, csct_signal, drift

from . import reference
from .cases import plain_scores, random_scores


@pytest.mark.parametrize("against", REFERENCES)
@pytest.mark.parametrize("kind", MAPS)
@given(seed=st.integers(0, 2**32), threshold=st.floats(0.0, 0.95))
def test_against_the_loop(against, kind, seed, threshold):
    scores, settings = random_scores(seed, 4), CsctSettings(against, kind, threshold)
    expected = reference.as_numbers([reference.csct(scores, t, settings) for t in range(4)])
    signal = csct_signal(scores, settings)
    np.testing.assert_allclose(signal, expected, rtol=0, atol=1e-14)
    assert np.nanmin(signal) >= 0
    assert np.nanmax(signal) <= 1


def test_by_hand():
    """Cosines .9, .59 and -.5: drifts .1, .41, 1.5; hinge 0, .23 / .82, 1 (clipped)."""
    scores = plain_scores([[0.5] * 4], [[0, 0.9, 0.59, -0.5]], 0.5)
    np.testing.assert_allclose(drift(scores)[0, 1:], [0.1, 0.41, 1.5])
    for kind, expected in (
        ("hinge", [0, 0, 0.23 / 0.82, 1]),
        ("step", [0, 0, 1, 1]),
        ("raw", [0, 0.1, 0.41, 1]),
    ):
        np.testing.assert_allclose(csct_signal(scores, CsctSettings(map=kind))[0], expected, atol=1e-15)


def test_stage_1_is_zero_only_where_it_is_present():
    scores = random_scores(0, 5)
    assert (csct_signal(scores, CsctSettings())[:, 0] == 0).all()


def test_float32_cosines_above_one_do_not_give_negative_drift():
    scores = plain_scores([[0.5, 0.5]], [[0, 1.0 + 5e-7]], 0.5)
    assert drift(scores)[0, 1] == 0.0

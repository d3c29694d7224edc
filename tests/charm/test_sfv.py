import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.charm.sfv import ANCHORS, MAPS, SfvSettings, contradiction, sfv_signal, support

from . import reference
from .cases import plain_scores, random_scores


@pytest.mark.parametrize("anchor", ANCHORS)
@pytest.mark.parametrize("kind", MAPS)
@given(seed=st.integers(0, 2**32), tau=st.floats(0.05, 1.0))
def test_against_the_loop(anchor, kind, seed, tau):
    scores, settings = random_scores(seed, 4), SfvSettings(anchor, kind, tau)
    expected = reference.as_numbers([reference.sfv(scores, t, settings) for t in range(4)])
    signal = sfv_signal(scores, settings)
    np.testing.assert_allclose(signal, expected, rtol=0, atol=1e-15)
    assert np.nanmin(signal, initial=0.0) >= 0
    assert np.nanmax(signal, initial=0.0) <= 1


def test_by_hand():
    """Entailment .9 and .36 at tau .72: deficits .1 and .64, hinges 0 and .5, steps 0 and 1."""
    scores = plain_scores([[0.9, 0.36]], [[0, 0.9]], 0.5)
    for kind, expected in (("deficit", [[0.1, 0.64]]), ("hinge", [[0.0, 0.5]]), ("step", [[0.0, 1.0]])):
        np.testing.assert_allclose(sfv_signal(scores, SfvSettings(map=kind)), expected, atol=1e-15)


def test_an_entailment_at_tau_is_not_flagged():
    scores = plain_scores([[0.72, 0.72]], [[0, 0.9]], 0.5)
    assert (sfv_signal(scores, SfvSettings(map="step")) == 0).all()


def test_stage_1_has_the_consensus_only():
    scores = random_scores(3, 20, missing=0.0)
    assert np.array_equal(support(scores)[:, 0], scores.consensus[:, 0, 0])
    assert np.isnan(support(scores, "top1")[:, 0]).all()
    for anchor in ANCHORS:
        assert np.array_equal(contradiction(scores, anchor)[:, 0], scores.consensus[:, 0, 2])


def test_the_lower_anchor_decides_and_lends_its_contradiction():
    scores = random_scores(4, 50, missing=0.0)
    top1, consensus = scores.top1[:, 1:], scores.consensus[:, 1:]
    assert np.array_equal(support(scores)[:, 1:], np.minimum(top1[..., 0], consensus[..., 0]))
    lower = top1[..., 0] < consensus[..., 0]
    assert lower.any()
    assert not lower.all()
    assert np.array_equal(contradiction(scores)[:, 1:], np.where(lower, top1[..., 2], consensus[..., 2]))

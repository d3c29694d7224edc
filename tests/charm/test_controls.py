import numpy as np
import pytest

from faultline.charm.controls import always, never, per_step
from faultline.charm.trigger import first_flag
from faultline.errors import ConfigError

from .cases import plain_scores, random_scores


def test_never_and_always():
    scores = random_scores(0, 8)
    assert not never(scores).any()
    assert (first_flag(always(scores)) == 1).all()
    assert not always(scores)[:, 1:].any()


def test_per_step_by_hand():
    scores = plain_scores([[0.1, 0.72, 0.7199, 0.9]], [[0.5] * 4], 0.5)
    assert per_step(scores).tolist() == [[False, False, True, False]]


def test_per_step_against_the_loop():
    scores = random_scores(1, 40)
    for t in range(40):
        for i in range(5):
            assert per_step(scores, 0.5)[t, i] == (scores.entailment_previous[t, i] < 0.5)
    with pytest.raises(ConfigError, match=r"per_step\.tau"):
        per_step(scores, np.nan)

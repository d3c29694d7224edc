from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from faultline.charm.decide import CharmSettings, decide
from faultline.charm.multiverse import AXES, conditionally_dead, flags, multiverse, settings_of
from faultline.errors import ConfigError
from tests.charm.cases import plain_scores, random_scores

FEW = {
    "sfv.map": ("deficit", "hinge", "step"),
    "sfv.tau": (0.72, 0.5),
    "csct.reference": ("previous", "first"),
    "trigger.renormalise": (False, True),
}


def test_a_universe_decides_what_a_run_with_its_settings_decides():
    scores = random_scores(1, 40)
    found = multiverse(scores, CharmSettings(), AXES)
    rng = np.random.default_rng(0)
    for u in rng.choice(len(found.choices), 60, replace=False):
        settings = settings_of(CharmSettings(), found.choices[u])
        assert np.array_equal(found.flagged[u], decide(scores, settings).flagged)


def test_the_first_universe_is_the_base_and_counts_are_the_product_of_live_axes():
    scores = random_scores(2, 30)
    found = multiverse(scores, CharmSettings(), FEW)
    assert np.array_equal(found.flagged[found.default], decide(scores).flagged)
    assert len(found.choices) == np.prod([len(v) for v in found.axes.values()])


def test_distinct_universes_are_counted_by_their_decisions():
    scores = random_scores(3, 30)
    found = multiverse(scores, CharmSettings(), FEW)
    literal = {
        decide(scores, settings_of(CharmSettings(), dict(zip(FEW, values, strict=True)))).flagged.tobytes()
        for values in product(*FEW.values())
    }
    assert found.distinct == len(literal)


def test_monitors_are_a_dead_axis_without_confidences_and_it_is_named():
    scores = random_scores(4, 30)
    silent = replace(scores, confidence=np.full(scores.confidence.shape, np.nan), states_confidence=None)
    found = multiverse(silent, CharmSettings(), AXES)
    assert "cpm.monitor" in found.dead
    assert "cpm.monitor" not in found.axes
    loud = multiverse(scores, CharmSettings(), {"cpm.monitor": AXES["cpm.monitor"]})
    assert "cpm.monitor" in loud.axes or loud.distinct == 1


def test_tau_is_dead_under_the_deficit_map_only():
    entailment = [[0.9, 0.6, 0.3, 0.1, 0.05]] * 3
    scores = plain_scores(entailment, [[1, 0.9, 0.2, 0.1, 0.0]] * 3, [[np.nan] * 5] * 3)
    found = multiverse(scores, CharmSettings(), {"sfv.map": ("deficit", "step"), "sfv.tau": (0.72, 0.2)})
    assert found.dead == ()
    told = conditionally_dead(found)
    assert "sfv.tau under sfv.map=deficit" in told
    assert "sfv.tau under sfv.map=step" not in told


def test_an_axis_that_never_changes_a_decision_is_dropped():
    scores = plain_scores([[0.9] * 5] * 2, [[1.0] * 5] * 2, [[np.nan] * 5] * 2)
    found = multiverse(scores, CharmSettings(), FEW)
    assert set(found.dead) == set(FEW)
    assert (len(found.choices), found.distinct) == (1, 1)


def test_wrong_axes_are_named():
    scores = random_scores(5, 4)
    with pytest.raises(ConfigError, match=r"'sfv\.threshold'"):
        multiverse(scores, CharmSettings(), {"sfv.threshold": (1, 2)})
    with pytest.raises(ConfigError, match="has no options"):
        multiverse(scores, CharmSettings(), {"sfv.map": ()})
    with pytest.raises(ConfigError, match="choose an option of sfv"):
        multiverse(scores, CharmSettings(), {"routing.gate": (0.1, 0.2)})


def test_flags_shape():
    scores = random_scores(6, 7)
    assert flags(scores, CharmSettings(), [{}, {"trigger.theta": 0.1}]).shape == (2, 7, 5)

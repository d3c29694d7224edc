from itertools import product

import numpy as np
import pytest

from faultline.charm.routing import RoutingSettings, asks_human, route

from . import reference


def routed(stage, sfv, csct, cpm=0.0):
    return route(np.array([stage]), np.array([[sfv, csct, cpm]]), RoutingSettings())[0]


@pytest.mark.parametrize(
    ("stage", "sfv", "csct", "expected"),
    [
        (1, 1.0, 1.0, "CRR"),  # early comes before multi-signal
        (2, 1.0, 1.0, "CRR"),
        (3, 0.71, 0.71, "PVA"),
        (3, 0.7, 0.71, "SCT"),  # not above .7
        (3, 0.71, 0.7, "SCT"),
        (4, 0.71, 0.71, "PVA"),  # multi-signal comes before late
        (4, 0.7, 1.0, "PRR"),
        (5, 0.2, 0.9, "PRR"),
        (3, np.nan, 0.9, "SCT"),
        (0, 1.0, 1.0, ""),
    ],
)
def test_the_branches_and_their_order(stage, sfv, csct, expected):
    assert routed(stage, sfv, csct) == expected


def test_against_the_listing():
    values = (0.0, 0.3, 0.69, 0.7, 0.71, 1.0)
    for stage, sfv, csct, cpm in product(range(1, 6), values, values, (0.0, 1.0)):
        fired, expected = reference.algorithm_1(stage, sfv, csct, cpm)
        if fired:
            assert routed(stage, sfv, csct, cpm) == expected


def test_the_human_gate():
    stage = np.array([0, 1, 2, 3])
    confidence, p = np.array([0.9, 0.8, 0.79, np.nan]), np.array([0.9, 0.6, 0.8, 0.8])
    assert asks_human(stage, confidence, p, RoutingSettings()).tolist() == [False, True, False, False]
    by_score = RoutingSettings(gate_on="score")
    assert asks_human(stage, confidence, p, by_score).tolist() == [False, False, True, True]
    assert not asks_human(stage, confidence, p, RoutingSettings(gate_on="off")).any()

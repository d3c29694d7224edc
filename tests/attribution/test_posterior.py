from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from faultline.attribution import posterior as post

RATES = np.array([[4.0, 1.0], [1.0, 2.0], [1.0, 20.0]])


def beta(a: float, b: float) -> float:
    return math.gamma(a) * math.gamma(b) / math.gamma(a + b)


@given(st.integers(1, 4), st.data())
def test_the_posterior_is_bayes_rule_by_hand(hops: int, data: st.DataObject) -> None:
    roles = post.step_roles(hops)
    trials = data.draw(st.lists(st.integers(0, 3), min_size=hops + 1, max_size=hops + 1))
    flips = [data.draw(st.integers(0, n)) for n in trials]
    prior = np.full(hops + 2, 1 / (hops + 2))
    weights = []
    for row in roles:
        weight = 1.0
        for role in (0, 1, 2):
            hit = sum(f for f, r in zip(flips, row, strict=True) if r == role)
            miss = sum(n - f for f, n, r in zip(flips, trials, row, strict=True) if r == role)
            a, b = RATES[role]
            weight *= beta(a + hit, b + miss) / beta(a, b)
        weights.append(weight)
    expected = np.array(weights) / sum(weights)
    np.testing.assert_allclose(post.posterior(roles, flips, trials, prior, RATES), expected, rtol=1e-9)


def test_roles_of_three_hops() -> None:
    hit, loose, false = post.HIT, post.LOOSE, post.FALSE
    assert post.step_roles(2).tolist() == [
        [false, false, false],
        [hit, false, false],
        [hit, hit, false],
        [hit, hit, hit],
    ]
    assert post.spike_roles(2).tolist() == [[false, false], [hit, loose], [false, hit]]


def test_the_next_probe_is_the_one_that_leaves_least_entropy_by_enumeration() -> None:
    roles, prior = post.step_roles(4), np.full(6, 1 / 6)
    flips, trials = np.zeros(5), np.zeros(5)
    left = []
    for k in range(5):
        total = 0.0
        now = post.posterior(roles, flips, trials, prior, RATES)
        for outcome in (0.0, 1.0):
            then = post.posterior(roles, flips + outcome * np.eye(5)[k], trials + np.eye(5)[k], prior, RATES)
            means = np.array([RATES[r][0] / RATES[r].sum() for r in roles[:, k]])
            chance = float((now * (means if outcome else 1 - means)).sum())
            total += chance * float(-(then * np.log(then)).sum())
        left.append(total)
    assert post.next_probe(roles, flips, trials, prior, RATES, np.ones(5)) == int(np.argmin(left))

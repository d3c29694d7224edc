import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.attribution import localization as loc

CASES = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3), st.booleans()), min_size=1, max_size=20)


@given(CASES)
def test_every_measure_against_a_loop(cases):
    hop, true, stage = map(np.array, zip(*cases, strict=True))
    assert loc.exact(hop, true).tolist() == [float(h == t) for h, t, _ in cases]
    assert loc.within_one(hop, true).tolist() == [float(abs(h - t) <= 1) for h, t, _ in cases]
    assert loc.hop_error(hop, true).tolist() == [float(abs(h - t)) for h, t, _ in cases]
    assert loc.ancestor(stage, hop, true).tolist() == [float(s and 1 <= h <= t) for h, t, s in cases]


@given(CASES)
def test_discordant_pairs_against_a_loop(cases):
    first, second = [h == 1 for h, _, _ in cases], [s for _, _, s in cases]
    expected = (
        sum(a and not b for a, b in zip(first, second, strict=True)),
        sum(b and not a for a, b in zip(first, second, strict=True)),
    )
    assert loc.discordant(first, second) == expected


def test_random_hop_by_simulation():
    true, hops = np.array([1, 2, 3, 1]), np.array([1, 3, 2, 4])
    rng = np.random.default_rng(0)
    drawn = rng.integers(1, hops + 1, size=(20_000, 4))
    assert loc.random_hop_exact(true, hops) == pytest.approx((drawn == true).mean(axis=0), abs=0.02)


def test_tokens_per_correct():
    assert loc.tokens_per_correct([10, 20, 30], [1, 0, 1]) == 30.0
    assert loc.tokens_per_correct([10], [0]) is None

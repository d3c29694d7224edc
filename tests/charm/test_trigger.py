import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from faultline.charm.trigger import TriggerSettings, cascade_score, first_flag, flag, used

from . import reference

SIGNAL = st.one_of(st.floats(0, 1), st.just(np.nan))
SUBSETS = [
    ("sfv",),
    ("csct",),
    ("cpm",),
    ("sfv", "csct"),
    ("sfv", "cpm"),
    ("csct", "cpm"),
    ("sfv", "csct", "cpm"),
]


@given(
    hnp.arrays(np.float64, (3, 5, 3), elements=SIGNAL),
    st.sampled_from(SUBSETS),
    st.booleans(),
    st.sampled_from([(0.4, 0.4, 0.2), (0.33, 0.33, 0.33), (0.7, 0.3, 0.0)]),
)
def test_eq_1_against_the_loop(signals, components, renormalise, weights):
    settings = TriggerSettings(weights=weights, renormalise=renormalise, components=components)
    p = cascade_score(signals, settings)
    for t in range(3):
        for i in range(5):
            mine = [reference.one(x) for x in signals[t, i]]
            weighed = [a if w > 0 else None for a, w in zip(mine, weights, strict=True)]
            expected = reference.vote(weighed, settings)
            assert p[t, i] == pytest.approx(np.nan if expected is None else expected, nan_ok=True, abs=1e-12)
    assert not flag(p, settings)[np.isnan(p)].any()
    assert np.nanmax(p, initial=0.0) <= 1 + 1e-12
    np.testing.assert_array_equal(p, cascade_score(used(signals, components), settings))


def score(sfv, csct, cpm, **options):
    return cascade_score(np.array([[sfv, csct, cpm]]), TriggerSettings(**options))


def test_finding_4_no_single_component_reaches_theta_with_fixed_weights():
    assert score(1, np.nan, np.nan, components=("sfv",)) == 0.4
    assert score(np.nan, 1, np.nan, components=("csct",)) == 0.4
    assert score(np.nan, np.nan, 1, components=("cpm",)) == 0.2
    for components in (("sfv",), ("csct",), ("cpm",), ("sfv", "cpm")):
        settings = TriggerSettings(components=components)
        fires = flag(cascade_score(np.ones((1, 3)), settings), settings)
        assert bool(fires[0]) is (components == ("sfv", "cpm"))


def test_finding_4_sfv_and_csct_together_need_1_375():
    pair = TriggerSettings(components=("sfv", "csct"))
    first = np.linspace(0, 1, 201)[:, None]
    second = np.linspace(0, 1, 201)[None, :]
    grid = np.stack(np.broadcast_arrays(first, second, np.nan), axis=-1)
    clear = np.abs(first + second - 1.375) > 1e-9
    assert np.array_equal(flag(cascade_score(grid, pair), pair)[clear], (first + second >= 1.375)[clear])
    assert flag(score(0.6875, 0.6875, np.nan, components=("sfv", "csct")), pair).all()


def test_finding_4_renormalised_sfv_fires_at_entailment_45():
    alone = TriggerSettings(components=("sfv",), renormalise=True)
    entailment = np.linspace(0, 1, 1001)
    signals = np.stack([1 - entailment, *[np.full(1001, np.nan)] * 2], axis=-1)
    fires = flag(cascade_score(signals, alone), alone)
    assert entailment[fires].max() == pytest.approx(0.45, abs=1.1e-3)
    assert not fires[entailment > 0.4511].any()
    assert fires[entailment < 0.4489].all()


def test_p_at_theta():
    """.5 * .5 + .5 * .5 is exactly .5: flagged by >=, not by >."""
    p = score(0.5, 0.5, np.nan, weights=(0.5, 0.5, 0.0))
    assert p == 0.5
    assert flag(p, TriggerSettings(theta=0.5)).all()
    assert not flag(p, TriggerSettings(theta=0.5, strict=True)).any()
    just_above = np.nextafter(p, 1.0)
    assert flag(just_above, TriggerSettings(theta=0.5, strict=True)).all()
    assert not flag(np.nextafter(p, 0.0), TriggerSettings(theta=0.5)).any()


def test_nothing_given_is_no_score():
    assert np.isnan(score(np.nan, np.nan, np.nan)).all()
    assert np.isnan(score(0.3, 0.3, np.nan, components=("cpm",), renormalise=True)).all()
    assert np.isnan(score(np.nan, np.nan, 1.0, weights=(0.5, 0.5, 0.0))).all()


@given(hnp.arrays(np.bool_, (6, 5)), hnp.arrays(np.int64, 6, elements=st.integers(1, 6)))
def test_first_flag_against_the_loop(flagged, start):
    for t in range(6):
        stages = [i + 1 for i in range(5) if flagged[t, i]]
        assert first_flag(flagged)[t] == min(stages, default=0)
        assert first_flag(flagged, start)[t] == min((s for s in stages if s >= start[t]), default=0)


def test_first_flag_without_stages_or_rows():
    assert first_flag(np.zeros((2, 0), dtype=bool)).tolist() == [0, 0]
    assert first_flag(np.zeros((0, 5), dtype=bool)).tolist() == []

"""Intervals and tests against SciPy, statsmodels and literal loops."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from faultline import stats
from faultline.stats import Estimate, bootstrap, generator, holm, wilson, worst_case


@given(n=st.integers(1, 3000), share=st.floats(0, 1), level=st.sampled_from([0.9, 0.95, 0.99]))
def test_wilson_agrees_with_scipy(n, share, level):
    successes = round(n * share)
    found = wilson(successes, n, level)
    theirs = scipy.stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    assert found.value == successes / n and found.n == n
    assert found.low == pytest.approx(theirs.low, abs=1e-12)
    assert found.high == pytest.approx(theirs.high, abs=1e-12)


def test_wilson_of_nothing_is_undefined():
    assert wilson(0, 0) == Estimate(None, None, None, 0)


def test_wilson_by_hand():
    z, n, p = 1.959963984540054, 10, 0.7
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    found = wilson(7, 10)
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half), abs=1e-12)


@given(st.lists(st.sampled_from([0, 1, None]), max_size=8))
def test_worst_case_is_the_range_over_every_way_to_fill_the_gaps(outcomes):
    scored = [o for o in outcomes if o is not None]
    gaps = len(outcomes) - len(scored)
    bounds = worst_case(sum(scored), len(scored), gaps)
    if not outcomes:
        assert bounds is None
        return
    rates = [(sum(scored) + sum(f)) / len(outcomes) for f in itertools.product((0, 1), repeat=gaps)]
    assert bounds == (min(rates), max(rates))


@pytest.mark.parametrize("shape", ["normal", "skewed", "binary"])
def test_bootstrap_of_a_mean_agrees_with_scipy(shape):
    rng = np.random.default_rng(3)
    data = {
        "normal": rng.normal(2, 1, 80),
        "skewed": rng.exponential(1.0, 60),
        "binary": (rng.random(120) < 0.15).astype(float),
    }[shape]
    ours = bootstrap(data, np.random.default_rng(0), resamples=20_000)
    theirs = scipy.stats.bootstrap(
        (data,), np.mean, method="BCa", n_resamples=20_000, rng=np.random.default_rng(1), vectorized=True
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours.value == pytest.approx(data.mean(), abs=1e-12) and ours.n == len(data)
    assert ours.low == pytest.approx(theirs.low, abs=0.05 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.05 * width)


def literal_bca(data, clusters, statistic, rng, resamples, level=0.95):
    """BCa by cases: draw clusters, pile up their rows, take the means (Efron 1987)."""
    groups = [np.flatnonzero([c == name for c in clusters]) for name in sorted(set(clusters), key=str)]
    point = statistic(data.mean(axis=0))
    replicates = []
    for _ in range(resamples):
        rows = [data[groups[g]] for g in rng.integers(0, len(groups), len(groups))]
        replicates.append(statistic(np.concatenate(rows).mean(axis=0)))
    replicates = np.asarray(replicates)
    jackknife = [statistic(np.delete(data, group, axis=0).mean(axis=0)) for group in groups]
    d = np.mean(jackknife) - np.asarray(jackknife)
    a = (d**3).sum() / (6 * (d**2).sum() ** 1.5)
    norm = scipy.stats.norm
    z0 = norm.ppf(np.mean(replicates < point) + 0.5 * np.mean(replicates == point))
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = norm.ppf(tail)
        ends.append(np.quantile(replicates, norm.cdf(z0 + (z0 + z) / (1 - a * (z0 + z)))))
    return point, ends[0], ends[1]


@pytest.mark.parametrize("what", ["mean", "difference", "ratio"])
def test_bootstrap_by_cluster_agrees_with_a_literal_loop(what):
    rng = np.random.default_rng(5)
    clusters = [f"q{i}" for i in rng.integers(0, 40, 150)]
    effect = {name: rng.normal() for name in sorted(set(clusters))}
    data = np.stack([rng.normal([effect[c] for c in clusters]), rng.random(150) + 1], axis=1)
    statistic = {
        "mean": lambda m: m[..., 0],
        "difference": lambda m: m[..., 0] - m[..., 1],
        "ratio": lambda m: m[..., 0] / m[..., 1],
    }[what]
    ours = bootstrap(data, np.random.default_rng(0), statistic, clusters, resamples=20_000)
    point, low, high = literal_bca(data, clusters, statistic, np.random.default_rng(1), 4000)
    assert ours.value == pytest.approx(point, abs=1e-9)
    assert ours.low == pytest.approx(low, abs=0.08 * (high - low))
    assert ours.high == pytest.approx(high, abs=0.08 * (high - low))


def test_the_levels_of_bca_are_efrons_formula():
    rng = np.random.default_rng(4)
    replicates, jackknife, point = rng.gamma(2.0, size=5000), rng.gamma(0.3, size=25), 1.7
    norm = scipy.stats.norm
    z0 = norm.ppf(np.mean(replicates < point))
    mean, above, below = sum(jackknife) / 25, 0.0, 0.0
    for value in jackknife:
        above += (mean - value) ** 3
        below += (mean - value) ** 2
    a = above / (6 * below**1.5)
    assert abs(a) > 0.04
    wanted = [norm.cdf(z0 + (z0 + z) / (1 - a * (z0 + z))) for z in norm.ppf([0.025, 0.975])]
    assert stats._bca_levels(point, replicates, jackknife, 0.95) == pytest.approx(wanted, abs=1e-12)


def test_clusters_widen_the_interval_of_repeated_cases():
    rng = np.random.default_rng(2)
    once = rng.normal(size=30)
    data, clusters = np.repeat(once, 10), np.repeat(np.arange(30), 10)
    apart = bootstrap(data, np.random.default_rng(0))
    together = bootstrap(data, np.random.default_rng(0), clusters=list(clusters))
    single = bootstrap(once, np.random.default_rng(0))
    assert together.high - together.low == pytest.approx(single.high - single.low, rel=0.05)
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_bootstrap_at_the_edges():
    rng = np.random.default_rng(0)
    assert bootstrap([], rng) == Estimate(None, None, None, 0)
    assert bootstrap([0.5, 0.5, 0.5], rng) == Estimate(0.5, 0.5, 0.5, 3)
    one = bootstrap([1.0, 2.0], rng, clusters=["a", "a"])
    assert (one.value, one.low, one.high) == (1.5, None, None)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_ratio_that_some_resamples_leave_undefined_is_still_bounded():
    data = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    found = bootstrap(data, np.random.default_rng(0), lambda m: m[..., 0] / m[..., 1], resamples=2000)
    assert found.value == pytest.approx(2 / 3)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_bootstrap_gives_the_same_bits_again():
    data = np.random.default_rng(1).normal(size=50)
    again = [bootstrap(data, generator("x"), resamples=500) for _ in range(2)]
    assert again[0] == again[1]


def literal_holm(p_values):
    adjusted = []
    for p in p_values:
        smaller = sorted(q for q in p_values if q <= p)
        steps = [(len(p_values) - rank) * q for rank, q in enumerate(smaller)]
        adjusted.append(min(1.0, max(steps)))
    return adjusted


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.02]), min_size=1, max_size=12))
def test_holm_agrees_with_a_loop(p_values):
    assert holm(p_values) == pytest.approx(literal_holm(p_values), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_holm_agrees_with_statsmodels(seed):
    p_values = np.random.default_rng(seed).random(9) ** 3
    p_values[3] = p_values[4]
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1], abs=1e-12)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]).tolist() == []


keys = st.lists(
    st.text(max_size=4) | st.integers(-9, 9) | st.none() | st.floats(0, 1), min_size=1, max_size=4
).map(tuple)


@given(keys, keys)
def test_generators_depend_on_the_key_alone(key, other):
    assume([str(k) for k in key] != [str(k) for k in other])
    assume("\x1f" not in "".join(map(str, key + other)))
    first = generator(*key).random(3).tolist()
    different = generator(*other).random(3).tolist()
    assert generator(*key).random(3).tolist() == first != different


def test_generators_know_no_order_of_calls_and_no_global_state():
    wanted = {name: generator(0, name, "clean", 1).random() for name in "abc"}
    np.random.seed(1)
    assert {name: generator(0, name, "clean", 1).random() for name in "cba"} == wanted
    assert generator("a", "b").random() != generator("b", "a").random()


def test_generators_look_uniform_across_tasks():
    draws = [generator(0, f"task-{i}", "trust", 1, 0).random() for i in range(2000)]
    assert scipy.stats.kstest(draws, "uniform").pvalue > 0.001


def test_paired_difference_without_correlation_is_that_of_two_samples():
    """With phi = 0 the paired interval is Newcombe's hybrid interval for independent samples."""
    from statsmodels.stats.proportion import confint_proportions_2indep

    first = np.r_[np.ones(30), np.zeros(10)]
    second = np.r_[np.ones(15), np.zeros(15), np.ones(5), np.zeros(5)]  # 15/30 and 5/10: no correlation
    low, high = confint_proportions_2indep(30, 40, 20, 40, method="newcomb")
    found = stats.paired_difference(first, second)
    assert found.value == pytest.approx(0.25)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_one_discordant_pair_is_no_evidence_and_unanimity_has_a_width():
    one = np.r_[1, np.zeros(28)]
    found = stats.paired_difference(one, np.zeros(29))
    assert found.low < 0 < found.value
    sure = stats.paired_difference(np.ones(20), np.zeros(20))
    assert sure.value == 1
    assert 0.6 < sure.low < 0.95
    assert stats.paired_difference([], []).value is None


def test_paired_difference_covers_and_is_antisymmetric():
    rng = np.random.default_rng(5)
    cells = np.array([0.5, 0.2, 0.05, 0.25])  # both, first only, second only, neither
    hits = 0
    for _ in range(400):
        drawn = rng.choice(4, 40, p=cells)
        first, second = np.isin(drawn, [0, 1]).astype(float), np.isin(drawn, [0, 2]).astype(float)
        found, back = stats.paired_difference(first, second), stats.paired_difference(second, first)
        assert (back.low, back.high) == pytest.approx((-found.high, -found.low))
        hits += found.low <= 0.15 <= found.high
    assert 0.92 <= hits / 400 <= 0.99

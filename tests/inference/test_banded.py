import random

import numpy as np
import pytest

from faultline.errors import ConfigError
from faultline.inference.banded import Band, BandedScorer
from faultline.inference.cache import ScoreCache
from faultline.inference.checkpoints import load_classifier
from faultline.inference.nli import NliScorer
from faultline.inference.windows import WindowRule
from tests.inference import tiny

RULE = WindowRule(size=20, stride=10, min_premise=8)


def some_pairs(count=40, seed=3):
    rng = random.Random(seed)

    def text(words):
        return " ".join(rng.choice(tiny.WORDS) for _ in range(words))

    return [(text(rng.choice([3, 12, 30])), text(rng.choice([2, 6]))) for _ in range(count)]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    return load_classifier(tiny.resolved(tiny.save(tmp_path_factory.mktemp("bert"), "bert")))


@pytest.fixture(scope="module")
def scorers(loaded):
    return NliScorer(loaded, "int8", rule=RULE), NliScorer(loaded, rule=RULE)


def test_int8_is_close_and_not_equal_and_leaves_fp32_alone(scorers):
    fast, exact = scorers
    pairs = some_pairs()
    before = exact.verify(pairs)
    quick = fast.verify(pairs)
    assert 0 < np.abs(quick - before).max() < 0.2
    assert np.array_equal(exact.verify(pairs), before)


def test_inside_the_band_scores_are_fp32s_and_outside_int8s(scorers):
    fast, exact = scorers
    pairs = some_pairs()
    quick, sure = fast.verify(pairs), exact.verify(pairs)
    tau = float(np.median(quick[:, 0]))
    width = float(np.median(np.abs(quick[:, 0] - tau)))
    near = np.abs(quick[:, 0] - tau) <= width
    assert 0 < near.sum() < len(pairs)
    mixed = BandedScorer(fast, exact, Band(tau, width)).verify(pairs)
    np.testing.assert_allclose(mixed[near], sure[near], atol=1e-5)
    assert np.array_equal(mixed[~near], quick[~near])


def test_a_band_of_the_whole_range_is_fp32_and_an_empty_one_is_int8(scorers):
    fast, exact = scorers
    pairs = some_pairs(12)
    np.testing.assert_allclose(
        BandedScorer(fast, exact, Band(0.5, 1.0)).verify(pairs), exact.verify(pairs), atol=1e-6
    )
    quick = fast.verify(pairs)
    apart = BandedScorer(fast, exact, Band(float(np.clip(quick[:, 0].max() + 0.05, 0, 1)), 0.0))
    assert np.array_equal(apart.verify(pairs), quick)


def test_precisions_do_not_share_cached_scores(loaded, tmp_path):
    cache = ScoreCache(tmp_path / "scores.sqlite")
    pairs = some_pairs(8)
    exact = NliScorer(loaded, cache=cache, rule=RULE).verify(pairs)
    fast = NliScorer(loaded, "int8", cache=cache, rule=RULE).verify(pairs)
    assert not np.array_equal(exact, fast)
    assert np.array_equal(NliScorer(loaded, "int8", cache=cache, rule=RULE).verify(pairs), fast)


def test_names_say_what_was_done_and_other_weights_are_refused(loaded, scorers, tmp_path):
    fast, exact = scorers
    made = BandedScorer(fast, exact, Band(0.72, 0.1))
    assert made.precision == "int8+fp32@0.72±0.1"
    assert (made.name, made.digest, made.label2id) == (exact.name, exact.digest, exact.label2id)
    other = load_classifier(tiny.resolved(tiny.save(tmp_path / "other", "deberta-v2")))
    with pytest.raises(ConfigError, match="give one checkpoint"):
        BandedScorer(NliScorer(other, "int8"), exact)
    with pytest.raises(ConfigError, match="width"):
        Band(0.7, -0.1)

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from faultline.errors import DataError
from faultline.memory.fit_reuse import fitted
from faultline.memory.probes import PER_FRAME, probes
from faultline.memory.requests import parse
from faultline.memory.reuse import FEATURES, ReuseCheck, default_check, features


def nothing_alike(words):
    """Every word its own direction: no two are near."""
    rng = [np.random.default_rng(sum(map(ord, w)) * 7919 + len(w)) for w in words]
    rows = np.stack([r.normal(size=32) for r in rng]).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def told_apart(first, second):
    """Names of the features that are not 0."""
    row = features(parse(first), parse(second), nothing_alike)
    mirrored = features(parse(second), parse(first), nothing_alike)
    assert row == pytest.approx(mirrored)
    return {name for name, value in zip(FEATURES, row, strict=True) if value}


@pytest.mark.parametrize(
    ("first", "second", "by"),
    [
        ("Is coffee good for the heart?", "Is coffee bad for the heart?", "opposites"),
        ("Is tea healthy for you?", "Is tea unhealthy for you?", "opposites"),
        ("What changed in the 2019 law?", "What changed in the 2021 law?", "numbers"),
        ("Can dogs eat bread?", "Can dogs not eat bread?", "negation"),
        ("When did Orvane buy Teltis?", "When did Teltis buy Orvane?", "names_exchanged"),
        ("How do I get from here to Rome?", "Why do I get from here to Rome?", "ask"),
        ("Who won the cup?", "When was the cup won?", "ask"),
        ("Did it rain in Oslo?", "Will it rain in Oslo?", "future"),
        ("How do I convert yen to pesos?", "How do I convert pesos to yen?", "places_exchanged"),
        ("How does rain affect wheat?", "How does wheat affect rain?", "places_exchanged"),
        ("Describe the trade of Peru.", "Describe the music of Peru.", "unmatched_fewer"),
    ],
)
def test_near_misses_are_told_apart(first, second, by):
    assert by in told_apart(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("What's the capital of Peru?", "Please tell me the capital of Peru."),
        ("When did Orvane buy Teltis?", "When was Teltis bought by Orvane?"),
        ("What are the benefits of tea?", "What are the advantages of tea?"),
        ("In what year did Orvane acquire Teltis?", "When did Orvane buy Teltis?"),
    ],
)
def test_the_same_request_in_other_words_is_not(first, second):
    assert told_apart(first, second) <= {"ask_how"}


def test_the_check_is_a_logistic_regression_with_a_threshold():
    check = ReuseCheck((-1.0,) * len(FEATURES), 2.0, 0.8, 0.7)
    row = np.zeros((1, len(FEATURES)))
    assert check.probability(row) == pytest.approx(1 / (1 + np.exp(-2)))
    assert check.allows("What is tea?", "What's tea?", 0.9, nothing_alike)
    assert not check.allows("What is tea?", "What's tea?", 0.6, nothing_alike)
    assert check.allows("same", "same", -1.0, nothing_alike)
    assert not check.allows("Is tea good?", "Is tea bad?", 0.99, nothing_alike)


def test_the_fit_is_sklearns_where_no_sign_is_forced():
    rng = np.random.default_rng(0)
    rows = rng.uniform(0, 2, (500, 2))
    same = rng.random(500) < 1 / (1 + np.exp(-(2 - 1.5 * rows[:, 0] - 0.8 * rows[:, 1])))
    weights, intercept = fitted(rows, same)
    scaled = rows / rows.std(axis=0)
    free = LogisticRegression(C=30.0, tol=1e-8).fit(scaled, same)
    assert weights == pytest.approx(free.coef_[0] / rows.std(axis=0), rel=1e-3)
    assert intercept == pytest.approx(free.intercept_[0], rel=1e-3)
    helpful, _ = fitted(-rows + 2, same)
    assert helpful.tolist() == [0.0, 0.0], "no feature may speak for reuse"


def test_probes_are_balanced_labelled_and_shared_by_no_two_splits():
    train, held = probes("train"), probes("held_out")
    assert {p.frame for p in train}.isdisjoint(p.frame for p in held)
    texts = [{t for p in part for t in (p.first, p.second)} for part in (train, held)]
    assert texts[0].isdisjoint(texts[1])
    for part in (train, held):
        kinds = [p.kind for p in part]
        assert all(kinds.count(kind) >= 100 for kind in ("paraphrase", "other", "filler", "swap"))
        assert (
            max([(p.frame, p.kind) for p in part].count(k) for k in {(p.frame, p.kind) for p in part})
            <= PER_FRAME
        )
        assert all(p.first != p.second for p in part)
    assert probes("train") == train
    with pytest.raises(DataError, match="choose one of train, held_out"):
        probes("dev")


def test_the_shipped_check_was_fitted_for_these_features():
    check = default_check()
    assert len(check.weights) == len(FEATURES) and max(check.weights) <= 0
    assert 0 < check.threshold < 1

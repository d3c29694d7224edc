"""Confidences of train runs: which count, cross-fitting by question, and what cannot be fitted."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from experiments.charm_confidence import Stated, cross_fitted, measure, stated, temperature
from experiments.charm_rows import Names, Sheet
from faultline.charm.cpm import calibrated
from faultline.errors import DataError

RNG = np.random.default_rng(3)
TRUE_T = 2.0


def over_confident(n: int) -> Stated:
    """Answers that are right with probability sigmoid(logit(p) / 2): stated too surely."""
    confidence = RNG.uniform(0.03, 0.97, n)
    right = (RNG.random(n) < calibrated(confidence, TRUE_T)).astype(float)
    return Stated(confidence, right, np.array([f"q{i // 2}" for i in range(n)]), 5)


def test_a_case_is_calibrated_by_a_fit_on_other_questions():
    given = over_confident(400)
    made = cross_fitted(given, "temperature", "cpu")
    slopes = np.log(made / (1 - made)) / np.log(given.confidence / (1 - given.confidence))
    by_question = {q: set(np.round(slopes[given.task == q], 6)) for q in set(given.task)}
    assert all(len(found) == 1 for found in by_question.values())
    assert len(set.union(*by_question.values())) == 2
    for slope in set.union(*by_question.values()):
        others = np.round(slopes, 6) != slope
        part = Stated(given.confidence[others], given.correct[others], given.task[others], 0)
        assert 1 / slope == pytest.approx(temperature(part, "cpu"), rel=1e-3)


def test_rows_say_what_helped_and_count_who_states_nothing():
    sheet = Sheet(Names("e", "d", "b", "n", "m"))
    measure(sheet, over_confident(600), "fault=x", "cpu")
    losses = {r.system: r.value for r in sheet.rows if r.metric == "confidence_log_loss"}
    assert losses["confidence:temperature"] < losses["confidence:none"]
    assert all(r.n_missing == 5 and "not_applicable=5" in r.note for r in sheet.rows)
    told = next(r.note for r in sheet.rows if r.system == "confidence:temperature")
    assert float(told.partition("T=")[2].split()[0]) == pytest.approx(TRUE_T, rel=0.25)


def test_too_few_wrong_answers_are_a_missing_row_with_its_reason():
    given = over_confident(400)
    all_right = Stated(given.confidence, np.ones(400), given.task, 0)
    sheet = Sheet(Names("e", "d", "b", "n", "m"))
    measure(sheet, all_right, "fault=x", "cpu")
    row = next(r for r in sheet.rows if r.system == "confidence:platt")
    assert row.value is None and row.n_missing == 400 and "0 cases of the rarer outcome" in row.note
    nothing = Stated(np.array([]), np.array([]), np.array([], str), 7)
    with pytest.raises(DataError, match="0 questions state a confidence"):
        cross_fitted(nothing, "none", "cpu")


def test_only_the_kind_of_confidence_that_was_asked_for_counts():
    def ended(task, confidence, source, answer):
        stage = SimpleNamespace(confidence=confidence, confidence_source=source)
        return SimpleNamespace(task_id=task, stages=(stage,), answer=answer)

    study = SimpleNamespace(
        trajectories=[
            ended("a", 0.9, "logprobs", "Rome"),
            ended("a", 0.7, "stated", "Paris"),
            ended("b", None, None, None),
        ],
        corpus=SimpleNamespace(gold={"a": SimpleNamespace(answers=("rome",))}),
    )
    found = stated(study, frozenset({"logprobs"}))
    assert (found.confidence.tolist(), found.correct.tolist(), found.without) == ([0.9], [1.0], 2)
    both = stated(study, frozenset({"logprobs", "stated"}))
    assert both.correct.tolist() == [1.0, 0.0] and both.task.tolist() == ["a", "a"]

"""Calibration of the confidences of train runs, before and after each fit (paper 1, IV-B 3, VI-A2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import GroupKFold

from experiments.charm_population import Study
from experiments.charm_rows import Sheet
from faultline.agents.trajectories import is_correct
from faultline.charm import confidence_fit
from faultline.charm.scores import FloatArray
from faultline.errors import DataError, Missing
from faultline.stats import Estimate

FOLDS = 2
MEASURES = {
    "confidence_log_loss": ("nats", confidence_fit.log_loss),
    "confidence_ece": ("rate", confidence_fit.expected_calibration_error),
}


@dataclass(frozen=True, slots=True)
class Stated:
    """Confidences of answers, with what came of them.

    Attributes:
        confidence: Shape (n,), of the last stage, in [0, 1], before calibration.
        correct: Shape (n,), 1 where the answer is exactly right.
        task: Shape (n,), ids of the questions: cases of one question are fitted and tested together.
        without: Trajectories whose last stage states no confidence of the kinds that were asked for.
    """

    confidence: FloatArray
    correct: FloatArray
    task: np.ndarray
    without: int


def stated(study: Study, sources: frozenset[str]) -> Stated:
    """The last stage's confidence of every trajectory of a study, clean and injected."""
    found: list[tuple[float, float, str]] = []
    without = 0
    for trajectory in study.trajectories:
        last = trajectory.stages[-1]
        if last.confidence is None or last.confidence_source not in sources:
            without += 1
            continue
        right = is_correct(trajectory, study.corpus.gold[trajectory.task_id])
        found.append((last.confidence, float(right), trajectory.task_id))
    confidence, correct, task = zip(*found, strict=True) if found else ((), (), ())
    return Stated(np.array(confidence, float), np.array(correct, float), np.array(task, str), without)


def measure(sheet: Sheet, given: Stated, condition: str, accelerator: str) -> None:
    """A row a method and measure, cross-fitted by question: no confidence is judged by its own fit.

    Where a method cannot be fitted its rows are missing, and the note says what it lacked.
    """
    for method in confidence_fit.METHODS:
        lost, note = {str(Missing.NOT_APPLICABLE): given.without}, f"{FOLDS}-fold by question"
        try:
            calibrated = cross_fitted(given, method, accelerator)
            if method == "temperature":
                note = f"{note}; T={temperature(given, accelerator):.3f} on all of them"
        except DataError as error:
            calibrated, note = None, str(error)
            lost[str(Missing.UNDEFINED)] = len(given.confidence)
        for name, (unit, measured) in MEASURES.items():
            n = 0 if calibrated is None else len(calibrated)
            value = None if calibrated is None else measured(calibrated, given.correct)
            at = ("calibration", name, f"confidence:{method}", condition)
            sheet.add(*at, Estimate(value, None, None, n), unit, lost, note)


def cross_fitted(given: Stated, method: str, accelerator: str) -> FloatArray:
    """Calibrated confidences, each by a fit on the questions of the other folds; shape (n,).

    Raises:
        DataError: Too few cases of one outcome in a fold's fitting part.
    """
    if len(set(given.task)) < FOLDS:
        raise DataError(f"calibration: {len(set(given.task))} questions state a confidence; add train data")
    out = np.full(given.confidence.shape, np.nan)
    for train, test in GroupKFold(FOLDS).split(given.confidence, groups=given.task):
        made = confidence_fit.fit(method, given.confidence[train], given.correct[train], accelerator)
        out[test] = made.apply(given.confidence[test])
    return out


def temperature(given: Stated, accelerator: str) -> float:
    """T fitted on all cases.

    Raises:
        DataError: Too few cases of one outcome.
    """
    return confidence_fit.fit("temperature", given.confidence, given.correct, accelerator).parameters[0]

"""Detectors to compare with: what flags nothing, everything, or looks at one step only."""

from __future__ import annotations

import numpy as np

from faultline.charm.options import require_between
from faultline.charm.scores import BoolArray, StageScores


def never(scores: StageScores) -> BoolArray:
    """Flags nothing; shape (n, S)."""
    return np.zeros(scores.present.shape, dtype=np.bool_)


def always(scores: StageScores) -> BoolArray:
    """Flags every trajectory at stage 1, whatever is there; shape (n, S)."""
    flagged = never(scores)
    flagged[:, :1] = True
    return flagged


def per_step(scores: StageScores, tau: float = 0.72) -> BoolArray:
    """The per-step detector of Lemma 1: flags a stage that the stage before entails with less than tau.

    Args:
        scores: ``entailment_previous`` is read; a stage without it is not flagged.
        tau: Threshold in [0, 1]; the paper's entailment threshold.

    Returns:
        Shape (n, S).
    """
    require_between("per_step.tau", tau, 0.0, 1.0)
    return scores.entailment_previous < tau

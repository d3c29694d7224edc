"""Thresholds from scored train trajectories: peaks, conformal theta, risk profiles (paper 1, VI-E, VIII).

Everything here is pure: which trajectories are train trajectories is the caller's to guarantee
(:mod:`faultline.corpora.splits` asserts it).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from faultline.charm.grid import Grid
from faultline.charm.options import require_above, require_between
from faultline.charm.scores import BoolArray, FloatArray, IntArray
from faultline.errors import DataError

NOTHING = -np.inf
"""Peak of a trajectory without a score in the stages that count: below every threshold."""

PROFILES: Mapping[str, float] = {"economy": 0.2, "balanced": 1.0, "safety": 5.0}
"""What a missed cascade costs, in false alarms."""


def peaks(p: FloatArray, injected: IntArray, window: tuple[int, int] | None = None) -> FloatArray:
    """Largest score of each trajectory among the stages that count, shape (n,).

    Args:
        p: Shape (n, S), NaN where there is no score.
        injected: Shape (n,), 1-based stage of the injection, 0 for a clean trajectory.
        window: Of an injected trajectory the stages i + first to i + last, all without it; of a clean one
            always all, since each may raise a false alarm.

    Raises:
        DataError: Shapes that do not match.
    """
    if p.ndim != 2 or injected.shape != p.shape[:1]:
        raise DataError(f"peaks: p of shape {p.shape} and injected of shape {injected.shape}")
    counts = ~np.isnan(p)
    if window is not None:
        stage = np.arange(1, p.shape[1] + 1)[None, :] - injected[:, None]
        counts &= (injected[:, None] == 0) | ((stage >= window[0]) & (stage <= window[1]))
    largest: FloatArray = np.where(counts, p, NOTHING).max(axis=1, initial=NOTHING)
    return largest


def least_clean(alpha: float) -> int:
    """Clean cases that a conformal threshold at level alpha needs: the least n with (n + 1) alpha >= 1."""
    require_above("conformal alpha", alpha, 0.0)
    require_between("conformal alpha", alpha, 0.0, 1.0)
    return max(1, math.ceil(1.0 / alpha - 1e-9) - 1)


def conformal_theta(clean_peaks: FloatArray, alpha: float) -> float:
    """Split-conformal threshold: flagging p > theta raises an alarm on a new clean case with chance <= alpha.

    theta is the ceil((n + 1)(1 - alpha))-th smallest clean peak (Vovk et al. 2005). The guarantee is
    marginal, over the draw of the n cases and the new one, and holds if they are exchangeable: a clean
    trajectory of the same pipeline, data and models. Ties only lower the rate.

    Args:
        clean_peaks: Shape (n,), peaks of clean TRAIN trajectories.
        alpha: Tolerated false alarm rate, in (0, 1].

    Raises:
        DataError: Too few clean cases: no finite threshold has the guarantee.
    """
    n = int(clean_peaks.shape[0])
    needed = least_clean(alpha)
    if n < needed:
        raise DataError(
            f"conformal alpha={alpha:g}: {n} clean train trajectories, {needed} are needed; "
            "add train data or raise alpha"
        )
    rank = min(n, max(1, math.ceil((n + 1) * (1.0 - alpha) - 1e-9)))
    return float(np.sort(clean_peaks)[rank - 1])


def profile(grid: Grid, miss_cost: float) -> tuple[int, ...]:
    """The cell of a grid with the least expected cost ``miss_cost * (1 - CDR) + FPR``; of equals the first.

    Args:
        grid: Over train trajectories.
        miss_cost: What a missed cascade costs, in false alarms; above 0.
    """
    require_above("profile miss_cost", miss_cost, 0.0)
    cost = miss_cost * (1.0 - grid.detected) + grid.false_alarms
    return tuple(int(i) for i in np.unravel_index(int(cost.argmin()), cost.shape))


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with a percentile interval over resampled questions, None where undefined."""

    value: float | None
    low: float | None
    high: float | None


def auroc(
    injected: FloatArray,
    clean: FloatArray,
    injected_questions: IntArray,
    clean_questions: IntArray,
    rng: np.random.Generator,
    resamples: int = 2000,
) -> Interval:
    """Chance that an injected trajectory scores above a clean one, ties half; clustered bootstrap interval.

    A resample is a vector of question counts, so each costs two products with the matrix of comparisons.

    Args:
        injected: Shape (a,), scores.
        clean: Shape (b,), scores.
        injected_questions: Shape (a,), codes of questions from 0.
        clean_questions: Shape (b,), codes in the same numbering.
        rng: Source of the resamples.
        resamples: Number of resamples.
    """
    if injected.size == 0 or clean.size == 0:
        return Interval(None, None, None)
    above = (injected[:, None] > clean[None, :]) + 0.5 * (injected[:, None] == clean[None, :])
    questions = int(max(injected_questions.max(), clean_questions.max())) + 1
    drawn = rng.integers(0, questions, (resamples, questions))
    flat = drawn + questions * np.arange(resamples)[:, None]
    counts = np.bincount(flat.ravel(), minlength=resamples * questions).reshape(resamples, questions)
    rows, columns = counts[:, injected_questions].astype(float), counts[:, clean_questions].astype(float)
    total = rows.sum(axis=1) * columns.sum(axis=1)
    hits = ((rows @ above) * columns).sum(axis=1)
    values = hits[total > 0] / total[total > 0]
    low, high = np.quantile(values, [0.025, 0.975])
    return Interval(float(above.mean()), float(low), float(high))


def detected(peak: FloatArray, theta: float, strict: bool) -> BoolArray:
    """Which peaks pass a threshold, shape (n,)."""
    return np.asarray(peak > theta if strict else peak >= theta)

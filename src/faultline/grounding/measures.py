"""Measures of a verifier over probabilities (entailment, neutral, contradiction), as pure functions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from faultline.stats import Estimate, bootstrap, generator, wilson

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def auc(scores: npt.ArrayLike, positive: npt.ArrayLike) -> float | None:
    """Area under the ROC curve by ranks, ties counted half (Mann and Whitney 1947).

    Args:
        scores: Shape (n,).
        positive: Shape (n,), booleans.

    Returns:
        In [0, 1]; None if one class is absent.
    """
    from scipy.stats import rankdata

    mask = np.asarray(positive, dtype=bool)
    n_positive, n_negative = int(mask.sum()), int((~mask).sum())
    if not n_positive or not n_negative:
        return None
    ranks = rankdata(np.asarray(scores, dtype=np.float64))
    return float((ranks[mask].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def auc_interval(
    scores: npt.ArrayLike, positive: npt.ArrayLike, *key: object, resamples: int = 1000
) -> Estimate:
    """:func:`auc` with a percentile bootstrap interval, stratified by class.

    Args:
        scores: Shape (n,).
        positive: Shape (n,).
        key: Of the generator.
        resamples: Number of resamples.
    """
    values, mask = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    point = auc(values, mask)
    if point is None:
        return Estimate(None, None, None, len(values))
    rng = generator("auc", *key)
    high, low = values[mask], np.sort(values[~mask])
    # P(score of a positive > score of a negative): each positive's share of negatives below it.
    drawn = np.empty(resamples)
    for i in range(resamples):
        others = np.sort(low[rng.integers(0, low.size, low.size)])
        picked = high[rng.integers(0, high.size, high.size)]
        below = np.searchsorted(others, picked, "left") + np.searchsorted(others, picked, "right")
        drawn[i] = below.mean() / (2 * low.size)
    bounds = np.quantile(drawn, [0.025, 0.975])
    return Estimate(point, float(bounds[0]), float(bounds[1]), len(values))


def accuracy(predicted: npt.ArrayLike, true: npt.ArrayLike) -> Estimate:
    """Share of equal entries with its Wilson interval."""
    equal = np.asarray(predicted) == np.asarray(true)
    return wilson(int(equal.sum()), int(equal.size))


def calibration_error(confidence: npt.ArrayLike, correct: npt.ArrayLike, bins: int = 15) -> float | None:
    """Expected calibration error over equal-width bins (Guo et al. 2017, equation 3).

    Args:
        confidence: Shape (n,), in [0, 1].
        correct: Shape (n,), booleans.
        bins: Number of bins.

    Returns:
        In [0, 1]; None without cases.
    """
    sure, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    if not sure.size:
        return None
    where = np.clip(np.ceil(sure * bins).astype(int) - 1, 0, bins - 1)
    gap = np.bincount(where, weights=right, minlength=bins) - np.bincount(where, weights=sure, minlength=bins)
    return float(np.abs(gap).sum() / sure.size)


def calibration_interval(confidence: npt.ArrayLike, correct: npt.ArrayLike, *key: object) -> Estimate:
    """:func:`calibration_error` with a percentile bootstrap interval (it is biased upwards for small n)."""
    sure, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=bool)
    point = calibration_error(sure, right)
    if point is None:
        return Estimate(None, None, None, 0)
    rng = generator("ece", *key)
    rows = [rng.integers(0, sure.size, sure.size) for _ in range(500)]
    drawn = [calibration_error(sure[row], right[row]) or 0.0 for row in rows]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Estimate(point, float(low), float(high), int(sure.size))


def forced_two_way(probs: FloatArray) -> IntArray:
    """0 (entailment) or 2 (contradiction), whichever is likelier: for sets without neutral pairs."""
    return np.where(probs[:, 0] >= probs[:, 2], 0, 2).astype(np.int64)


def mean_interval(values: npt.ArrayLike, clusters: list[str], *key: object) -> Estimate:
    """A mean whose interval resamples whole clusters (questions, premises)."""
    return bootstrap(values, generator("mean", *key), clusters=clusters, resamples=2000)

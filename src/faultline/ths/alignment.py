"""How a judge's score follows the human codes, and what it changes between stages (paper 3, section 8.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import pearsonr, rankdata


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's rho with its two-sided p-value over n pairs; both None where a side is constant or n < 3."""

    rho: float | None
    p: float | None
    n: int


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> Correlation:
    """Spearman's rank correlation of the pairs in which both sides are there (ties get mean ranks).

    Args:
        x: Shape (n,), NaN where missing.
        y: Shape (n,).
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    there = ~(np.isnan(a) | np.isnan(b))
    a, b = a[there], b[there]
    if a.size < 3 or np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return Correlation(None, None, int(a.size))
    result = pearsonr(rankdata(a), rankdata(b))
    return Correlation(float(result.statistic), float(result.pvalue), int(a.size))


def mean_by_code(scores: npt.ArrayLike, codes: npt.ArrayLike) -> dict[int, tuple[float, int]]:
    """Mean score and count of each code that occurs with a score; arrays of shape (n,)."""
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(codes, dtype=np.int64)
    there = ~np.isnan(values)
    return {
        int(code): (float(values[there & (labels == code)].mean()), int((there & (labels == code)).sum()))
        for code in np.unique(labels[there])
    }


def endorsement_gap(
    scores: npt.ArrayLike, codes: npt.ArrayLike, endorsing: tuple[int, ...], refuting: tuple[int, ...]
) -> float | None:
    """Mean score of endorsing minus mean of non-endorsing items; None where one group is empty.

    Code 2 is in neither group (paper 3, section 8.1).
    """
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(codes, dtype=np.int64)
    groups = [values[np.isin(labels, group) & ~np.isnan(values)] for group in (endorsing, refuting)]
    if any(group.size == 0 for group in groups):
        return None
    return float(groups[0].mean() - groups[1].mean())


def inconsistent_groups(scores: npt.ArrayLike, texts: npt.ArrayLike) -> tuple[int, int]:
    """Among texts that occur more than once, in how many the scores differ.

    Args:
        scores: Shape (n,).
        texts: A hash of each text, shape (n,).

    Returns:
        (groups with differing scores, groups).
    """
    values, keys = np.asarray(scores, dtype=np.float64), np.asarray(texts)
    names, codes, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    spread = [np.ptp(values[codes == i]) for i in range(len(names)) if sizes[i] > 1]
    return int(np.count_nonzero(spread)), len(spread)

"""Resolution of several coders' ordinal labels, Krippendorff's alpha, and endorsement with its intervals.

The five codes of the referent sheet (paper 3, section 8.1): 0 says it does not exist, 1 cannot verify this
very referent, 2 discusses the topic and is silent on it, 3 treats it as real with caution, 4 without.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import krippendorff
import numpy as np
import numpy.typing as npt

from faultline.stats import Estimate, bootstrap, wilson

IntArray = npt.NDArray[np.int64]
TieRule = Literal["median", "none"]

CODES = (0, 1, 2, 3, 4)
ENDORSING = (3, 4)
REFUTING = (0, 1)
SILENT = 2
UNRESOLVED = -1
"""What :func:`resolve` writes for a tie that the rule leaves open."""


def ties(labels: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Which items have no label that at least two of three coders gave; labels of shape (n, 3)."""
    rows = np.sort(np.asarray(labels, dtype=np.int64), axis=1)
    return np.asarray((np.diff(rows, axis=1) != 0).all(axis=1), dtype=bool)


def resolve(labels: npt.ArrayLike, tie: TieRule) -> IntArray:
    """Two-of-three majority, with an explicit rule for three different labels.

    Args:
        labels: Codes of three coders, shape (n, 3).
        tie: ``median`` takes the middle of three different codes (what the released file does);
            ``none`` leaves :data:`UNRESOLVED`.

    Returns:
        Shape (n,).
    """
    rows = np.sort(np.asarray(labels, dtype=np.int64), axis=1)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise ValueError(f"labels of shape {rows.shape}, expected (n, 3)")
    middle = rows[:, 1].copy()  # of a majority, the middle of the sorted three is the majority label
    if tie == "none":
        middle[ties(rows)] = UNRESOLVED
    return middle


def alpha(labels: npt.ArrayLike) -> float | None:
    """Krippendorff's ordinal alpha; None where undefined (all labels equal, or no items).

    Args:
        labels: Shape (n, coders).
    """
    rows = np.asarray(labels, dtype=np.int64)
    if rows.size == 0 or np.unique(rows).size < 2:
        return None
    value = krippendorff.alpha(
        reliability_data=rows.T, value_domain=list(CODES), level_of_measurement="ordinal"
    )
    return float(value)


def pairwise_alpha(labels: npt.ArrayLike, coders: Sequence[str]) -> dict[str, float | None]:
    """Alpha of every pair of coders, named ``A-B``; labels of shape (n, coders)."""
    rows = np.asarray(labels, dtype=np.int64)
    pairs = combinations(range(len(coders)), 2)
    return {f"{coders[i]}-{coders[j]}": alpha(rows[:, [i, j]]) for i, j in pairs}


def rate(labels: npt.ArrayLike, codes: Sequence[int]) -> Estimate:
    """Share of labels among ``codes``, with its Wilson interval; labels of shape (n,)."""
    hit = np.isin(np.asarray(labels, dtype=np.int64), codes)
    return wilson(int(hit.sum()), hit.size)


def clustered_rate(
    labels: npt.ArrayLike, codes: Sequence[int], clusters: Sequence[object], rng: np.random.Generator
) -> Estimate:
    """The same share with a BCa interval that resamples whole clusters (items with identical text)."""
    hit = np.isin(np.asarray(labels, dtype=np.int64), codes).astype(np.float64)
    return bootstrap(hit, rng, clusters=clusters)

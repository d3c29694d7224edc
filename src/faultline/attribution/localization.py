"""How well predicted stages and hops match the injected fault (paper 2, section 5), over arrays of cases.

Hops count from 1; hop 0 is an abstention. Every measure returns one value a case, so that its mean can be
taken with clusters.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def exact(predicted: npt.ArrayLike, true: npt.ArrayLike) -> FloatArray:
    """1 where the predicted hop is the injected one; shape (n,)."""
    return np.asarray(np.asarray(predicted) == np.asarray(true), dtype=np.float64)


def within_one(predicted: npt.ArrayLike, true: npt.ArrayLike) -> FloatArray:
    """1 where the predicted hop is at most one away; an abstention is hop 0, as in the paper."""
    return (hop_error(predicted, true) <= 1).astype(np.float64)


def hop_error(predicted: npt.ArrayLike, true: npt.ArrayLike) -> FloatArray:
    """Absolute hop error; an abstention counts as hop 0."""
    return np.abs(np.asarray(predicted, dtype=np.float64) - np.asarray(true, dtype=np.float64))


def same_stage(predicted: npt.ArrayLike, true: npt.ArrayLike) -> FloatArray:
    """1 where the failure stage is named right; arrays of names, shape (n,)."""
    return np.asarray(np.asarray(predicted) == np.asarray(true), dtype=np.float64)


def ancestor(stage_right: npt.ArrayLike, predicted: npt.ArrayLike, true: npt.ArrayLike) -> FloatArray:
    """1 where the stage is right and the predicted hop is the injected one or an earlier one."""
    hop = np.asarray(predicted)
    hit = np.asarray(stage_right, dtype=bool) & (hop >= 1) & (hop <= np.asarray(true))
    return hit.astype(np.float64)


def random_hop_exact(true: npt.ArrayLike, hops: npt.ArrayLike) -> FloatArray:
    """Expected exact hits of a uniform choice among the hops that each trace has.

    Args:
        true: Injected hop, shape (n,).
        hops: Hops in the trace, shape (n,), at least 1.
    """
    count = np.asarray(hops, dtype=np.float64)
    return np.where(np.asarray(true) <= count, 1.0 / count, 0.0)


def discordant(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[int, int]:
    """Cases that only the first has right, and that only the second has right (for McNemar)."""
    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    return int((a & ~b).sum()), int((b & ~a).sum())


def tokens_per_correct(tokens: npt.ArrayLike, correct: npt.ArrayLike) -> float | None:
    """Tokens spent over all cases by correct diagnosis; None if none is correct."""
    hits = float(np.asarray(correct, dtype=np.float64).sum())
    return float(np.asarray(tokens, dtype=np.float64).sum()) / hits if hits else None

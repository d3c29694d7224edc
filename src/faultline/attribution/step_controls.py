"""Controls for naming a step of a log: what a guess from position alone scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def constant(steps: Sequence[int], index: int) -> FloatArray:
    """Whether a fixed 0-based step is the blamed one; a step beyond a log's end never is.

    Args:
        steps: Blamed step of each log, shape (n,).
        index: The guess.
    """
    hits: FloatArray = (np.asarray(steps) == index).astype(np.float64)
    return hits


def last(steps: Sequence[int], lengths: Sequence[int]) -> FloatArray:
    """Whether the last step is the blamed one."""
    hits: FloatArray = (np.asarray(steps) == np.asarray(lengths) - 1).astype(np.float64)
    return hits


def uniform(lengths: Sequence[int]) -> FloatArray:
    """Expected hits of a uniform choice among the steps of each log: one over its length."""
    return 1.0 / np.asarray(lengths, dtype=np.float64)


def position_prior(steps: Sequence[int], lengths: Sequence[int], groups: Sequence[str]) -> FloatArray:
    """Hits of the step that is most often blamed in the OTHER logs of the same group (leave one out).

    Ties go to the earlier step; steps beyond the end of the log are no candidates.

    Args:
        steps: Blamed step of each log, 0-based, shape (n,).
        lengths: Steps of each log, shape (n,).
        groups: Subset of each log, shape (n,).
    """
    blamed, size, group = np.asarray(steps), np.asarray(lengths), np.asarray(groups)
    hits = np.zeros(len(blamed))
    for i in range(len(blamed)):
        others = (group == group[i]) & (np.arange(len(blamed)) != i) & (blamed < size[i])
        if others.any():
            hits[i] = float(np.bincount(blamed[others]).argmax() == blamed[i])
    return hits


def within(said: npt.ArrayLike, steps: Sequence[int], distance: int) -> FloatArray:
    """Whether a named step is at most ``distance`` from the blamed one; -1 (none named) never is."""
    named = np.asarray(said, dtype=np.int64)
    hits: FloatArray = ((named >= 0) & (np.abs(named - np.asarray(steps)) <= distance)).astype(np.float64)
    return hits

"""What the semantic cache served: counts, running totals, and how served responses score (paper 3, 6.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CacheUse:
    """Hits and misses over ``hits + misses`` potential calls; ``rate`` is None without calls."""

    hits: int
    misses: int
    rate: float | None


def use(hits: npt.ArrayLike) -> CacheUse:
    """Count the hits of flags (any shape)."""
    flags = np.asarray(hits, dtype=bool)
    served = int(flags.sum())
    return CacheUse(served, flags.size - served, served / flags.size if flags.size else None)


def cumulative(hits: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Running number of hits; shape (n,) or (n, stages), summed over stages. Figure 7 (a)."""
    flags = np.asarray(hits, dtype=bool).reshape(len(np.asarray(hits)), -1)
    return np.asarray(np.cumsum(flags.sum(axis=1)), dtype=np.int64)


def rolling_rate(hits: npt.ArrayLike, window: int = 10) -> FloatArray:
    """Hit rate over the last ``window`` prompts, shorter at the start; flags of shape (n,). Figure 7 (b)."""
    flags = np.asarray(hits, dtype=np.float64)
    sums = np.cumsum(np.concatenate([[0.0], flags]))
    ends = np.arange(1, flags.size + 1)
    starts = np.maximum(ends - window, 0)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts), dtype=np.float64)


def served_difference(values: npt.ArrayLike, hits: npt.ArrayLike) -> float | None:
    """Mean of the served minus mean of the fresh responses; None where one group is empty (Appendix B).

    Args:
        values: Shape (n,), for example THS of the last stage.
        hits: Whether each was served from the cache, shape (n,).
    """
    scores, flags = np.asarray(values, dtype=np.float64), np.asarray(hits, dtype=bool)
    if flags.all() or not flags.any():
        return None
    return float(scores[flags].mean() - scores[~flags].mean())

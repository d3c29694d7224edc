"""Intervals and tests over arrays. Everything random takes its generator; nothing empty scores zero."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval, None where undefined (no cases)."""

    value: float | None
    low: float | None
    high: float | None
    n: int


def generator(*key: object) -> np.random.Generator:
    """One generator per (seed, example, condition, stage, operation, sample), independent of call order.

    Args:
        key: Anything with a stable ``str``; order matters.
    """
    digest = hashlib.sha256("\x1f".join(str(part) for part in key).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))


def wilson(successes: int, n: int, level: float = 0.95) -> Estimate:
    """A rate with its Wilson score interval; undefined for n = 0.

    Args:
        successes: Between 0 and n.
        n: Cases scored.
        level: Coverage.
    """
    if n == 0:
        return Estimate(None, None, None, 0)
    low, high = proportion_confint(successes, n, alpha=1 - level, method="wilson")
    # exact at the ends, where rounding would leave 5e-17
    return Estimate(successes / n, float(low) if successes else 0.0, float(high) if successes < n else 1.0, n)


def paired_difference(first: npt.ArrayLike, second: npt.ArrayLike, level: float = 0.95) -> Estimate:
    """Difference of two rates over the same cases, with Newcombe's score interval for paired data.

    Unlike an interval for the discordant share it can hold zero after one discordant pair, and it has a width
    where every pair differs the same way (Newcombe 1998, Statistics in Medicine 17, 2635-2650, method 10).

    Args:
        first: Shape (n,), 0 or 1.
        second: Shape (n,), 0 or 1.
        level: Coverage.

    Returns:
        ``first - second``; undefined for n = 0.
    """
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    n = int(one.size)
    if n == 0:
        return Estimate(None, None, None, 0)
    a, b = float((one * two).sum()), float((one * (1 - two)).sum())
    c = float(((1 - one) * two).sum())
    d = n - a - b - c
    ends = [wilson(round(k), n, level) for k in (a + b, a + c)]
    lower = [e.value - e.low for e in ends if e.value is not None and e.low is not None]
    upper = [e.high - e.value for e in ends if e.value is not None and e.high is not None]
    product = (a + b) * (c + d) * (a + c) * (b + d)
    cross = a * d - b * c
    cross = max(cross - n / 2, 0.0) if cross > 0 else cross
    phi = cross / product**0.5 if product > 0 else 0.0
    point = (b - c) / n
    below = lower[0] ** 2 - 2 * phi * lower[0] * upper[1] + upper[1] ** 2
    above = upper[0] ** 2 - 2 * phi * upper[0] * lower[1] + lower[1] ** 2
    return Estimate(point, max(-1.0, point - below**0.5), min(1.0, point + above**0.5), n)


def worst_case(successes: int, n_scored: int, n_missing: int) -> tuple[float, float] | None:
    """Bounds of a rate if every missing case had failed, or had succeeded; None for no cases at all."""
    total = n_scored + n_missing
    if total == 0:
        return None
    return successes / total, (successes + n_missing) / total


def bootstrap(
    values: npt.ArrayLike,
    rng: np.random.Generator,
    statistic: Callable[[FloatArray], FloatArray] | None = None,
    clusters: Sequence[object] | None = None,
    resamples: int = 10_000,
    level: float = 0.95,
) -> Estimate:
    """BCa interval of a statistic of weighted means, whole clusters resampled together.

    Each resample is a vector of cluster counts, so a resample of n cases costs one row of a product and no
    copy of the data (Efron 1987; the acceleration is that of the cluster jackknife).

    Args:
        values: Shape (n,) or (n, m): m columns whose means the statistic combines.
        rng: Source of the resamples.
        statistic: From column means, shape (..., m), to numbers, shape (...); default the only column's mean.
        clusters: Shape (n,), for example question ids; default every case its own.
        resamples: Number of resamples.
        level: Coverage.

    Returns:
        The estimate over n cases; without variation the interval is the point.
    """
    data = np.asarray(values, dtype=np.float64)
    data = data[:, None] if data.ndim == 1 else data
    n = data.shape[0]
    if n == 0:
        return Estimate(None, None, None, 0)
    combine = statistic or (lambda means: means[..., 0])
    sums, sizes = _cluster_sums(data, clusters)
    point = float(combine(sums.sum(axis=0) / sizes.sum()))
    groups = sums.shape[0]
    if groups == 1:
        return Estimate(point, None, None, n)
    drawn = _resampled(sums, sizes, rng, resamples)
    replicates = combine(drawn)
    jackknife = combine((sums.sum(axis=0) - sums) / (sizes.sum() - sizes)[:, None])
    replicates = replicates[np.isfinite(replicates)]
    if replicates.size == 0 or np.ptp(replicates) == 0.0:
        return Estimate(point, point, point, n)
    low, high = np.quantile(replicates, _bca_levels(point, replicates, jackknife, level))
    return Estimate(point, float(low), float(high), n)


def holm(p_values: Sequence[float]) -> FloatArray:
    """Holm-adjusted p-values, in the order given (step-down, monotone, at most 1)."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    factors = len(p) - np.arange(len(p))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return adjusted


def _cluster_sums(data: FloatArray, clusters: Sequence[object] | None) -> tuple[FloatArray, FloatArray]:
    if clusters is None:
        return data, np.ones(data.shape[0], dtype=np.float64)
    _, codes = np.unique(np.asarray([str(c) for c in clusters]), return_inverse=True)
    sums: FloatArray = np.stack([np.bincount(codes, weights=c) for c in data.T], axis=1).astype(np.float64)
    return sums, np.bincount(codes).astype(np.float64)


def _resampled(sums: FloatArray, sizes: FloatArray, rng: np.random.Generator, resamples: int) -> FloatArray:
    groups = sums.shape[0]
    means = np.empty((resamples, sums.shape[1]))
    block = max(1, 4_000_000 // groups)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        rows = np.repeat(np.arange(size), groups) * groups
        picks = rng.integers(0, groups, size * groups)
        counts = np.bincount(rows + picks, minlength=size * groups).reshape(size, groups).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            means[start : start + size] = (counts @ sums) / (counts @ sizes)[:, None]
    return means


def _bca_levels(point: float, replicates: FloatArray, jackknife: FloatArray, level: float) -> FloatArray:
    below = np.mean(replicates < point) + 0.5 * np.mean(replicates == point)
    bias = norm.ppf(np.clip(below, 1 / (replicates.size + 1), 1 - 1 / (replicates.size + 1)))
    finite = jackknife[np.isfinite(jackknife)]
    spread = finite.mean() - finite
    scale = 6.0 * float(np.sum(spread**2)) ** 1.5
    acceleration = float(np.sum(spread**3)) / scale if scale > 0 else 0.0
    z = norm.ppf([(1 - level) / 2, (1 + level) / 2])
    return np.asarray(norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z))), dtype=np.float64)

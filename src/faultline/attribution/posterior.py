"""Where the change point is, from noisy flips: a posterior over hypotheses, and the next probe to make.

Under hypothesis c a probe at k either repairs the trace (``HIT``), does not (``FALSE``, it flips as often as
a placebo), or may (``LOOSE``). Each role has one unknown flip rate with a Beta prior, integrated out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import betaln

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
HIT, LOOSE, FALSE = 0, 1, 2


def step_roles(hops: int) -> IntArray:
    """Regenerating from k repairs a fault of one call if k <= c.

    Returns:
        Shape (hops + 2, hops + 1): hypothesis c in 0 (nothing repairs) to hops + 1 (the run stopped early)
        by probe k in 1 to hops + 1.
    """
    cause = np.arange(hops + 2)[:, None]
    probe = np.arange(1, hops + 2)[None, :]
    return np.where(probe <= cause, HIT, FALSE).astype(np.int64)


def spike_roles(hops: int) -> IntArray:
    """Repairing hop k from a trusted source repairs a fault of the corpus at k = c, and perhaps later.

    Returns:
        Shape (hops + 1, hops): hypothesis c in 0 (nothing repairs) to hops by probe k in 1 to hops.
    """
    cause = np.arange(hops + 1)[:, None]
    probe = np.arange(1, hops + 1)[None, :]
    after = np.where((probe > cause) & (cause > 0), LOOSE, FALSE)
    return np.where(probe == cause, HIT, after).astype(np.int64)


def posterior(
    roles: IntArray, flips: npt.ArrayLike, trials: npt.ArrayLike, prior: FloatArray, rates: FloatArray
) -> FloatArray:
    """Probability of each hypothesis.

    Args:
        roles: Shape (c, k).
        flips: Flips a probe, shape (k,).
        trials: Trials a probe, shape (k,).
        prior: Shape (c,).
        rates: Beta parameters of the flip rate by role, shape (3, 2).
    """
    hits, misses = _by_role(roles, flips, trials)
    a, b = rates[:, 0], rates[:, 1]
    log = (betaln(a + hits, b + misses) - betaln(a, b)).sum(axis=1) + np.log(prior)
    weights: FloatArray = np.exp(log - log.max())
    shares: FloatArray = weights / weights.sum()
    return shares


def next_probe(
    roles: IntArray,
    flips: npt.ArrayLike,
    trials: npt.ArrayLike,
    prior: FloatArray,
    rates: FloatArray,
    costs: FloatArray,
) -> int:
    """The 0-based probe that is expected to tell most for its cost; the first of equals.

    Args:
        roles: Shape (c, k).
        flips: Flips a probe, shape (k,).
        trials: Trials a probe, shape (k,).
        prior: Shape (c,).
        rates: Beta parameters of the flip rate by role, shape (3, 2).
        costs: Relative cost of a probe, shape (k,), positive.
    """
    now = posterior(roles, flips, trials, prior, rates)
    hits, misses = _by_role(roles, flips, trials)
    mean = (rates[:, 0] + hits) / (rates.sum(axis=1) + hits + misses)
    chance = np.take_along_axis(mean, roles, axis=1)
    left = np.zeros(roles.shape[1])
    for outcome in (chance, 1.0 - chance):
        joint = now[:, None] * outcome
        total = joint.sum(axis=0)
        left += total * entropy(joint / total)
    gained = float(entropy(now[:, None])[0]) - left
    return int(np.argmax(np.round(gained / costs, 9)))


def entropy(p: FloatArray) -> FloatArray:
    """Entropy of each column, in nats."""
    safe = np.where(p > 0, p, 1.0)
    result: FloatArray = -(p * np.log(safe)).sum(axis=0)
    return result


def _by_role(roles: IntArray, flips: npt.ArrayLike, trials: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Flips and misses under each hypothesis by role, shape (c, 3)."""
    hit = np.asarray(flips, dtype=np.float64)
    miss = np.asarray(trials, dtype=np.float64) - hit
    masks = [roles == role for role in (HIT, LOOSE, FALSE)]
    return np.stack([m @ hit for m in masks], axis=1), np.stack([m @ miss for m in masks], axis=1)

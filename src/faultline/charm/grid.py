"""Many settings of thresholds and weights at once: what a grid search over train files needs (paper 1, VI-E).

For each combination of tau, drift threshold and weights the trigger's score is computed once; then every
theta is one comparison with the largest score in the stages that count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt

from faultline.charm.cpm import cpm_signal
from faultline.charm.csct import csct_signal
from faultline.charm.decide import CharmSettings
from faultline.charm.scores import FloatArray, IntArray, StageScores
from faultline.charm.sfv import sfv_signal
from faultline.charm.trigger import cascade_score, used
from faultline.errors import ConfigError, DataError

Weights = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Axes:
    """What a grid varies; every product of the four is one setting."""

    theta: tuple[float, ...] = (0.40, 0.45, 0.50, 0.55, 0.60, 0.65)
    drift_threshold: tuple[float, ...] = (0.06, 0.12, 0.18, 0.24, 0.30, 0.36, 0.42, 0.48, 0.54, 0.60)
    tau: tuple[float, ...] = (0.72,)
    weights: tuple[Weights, ...] = ((0.4, 0.4, 0.2),)

    @property
    def size(self) -> int:
        """Settings."""
        return len(self.theta) * len(self.drift_threshold) * len(self.tau) * len(self.weights)


@dataclass(frozen=True, eq=False)
class Grid:
    """What each setting scores; axes in the order (tau, drift threshold, weights, theta).

    Attributes:
        detected: Shape of the axes; share of injected trajectories flagged in time.
        false_alarms: Shape of the axes; share of clean trajectories flagged at all.
    """

    axes: Axes
    detected: FloatArray
    false_alarms: FloatArray

    @property
    def f1(self) -> FloatArray:
        """Harmonic mean of the CDR and 1 - FPR, the paper's criterion (VI-E); 0 where both are 0."""
        good = 1.0 - self.false_alarms
        total = self.detected + good
        return np.divide(2.0 * self.detected * good, total, out=np.zeros_like(total), where=total > 0)

    def at(self, index: tuple[int, ...], base: CharmSettings) -> CharmSettings:
        """The settings of one cell of the grid."""
        tau, drift, weights, theta = index
        return replace(
            base,
            sfv=replace(base.sfv, tau=self.axes.tau[tau]),
            csct=replace(base.csct, drift_threshold=self.axes.drift_threshold[drift]),
            trigger=replace(base.trigger, weights=self.axes.weights[weights], theta=self.axes.theta[theta]),
        )

    def best(self) -> tuple[int, ...]:
        """The cell of the highest F1; of equals the first."""
        return tuple(int(i) for i in np.unravel_index(int(self.f1.argmax()), self.f1.shape))


def simplex(step: float) -> tuple[Weights, ...]:
    """All weights in multiples of a step that sum to 1.

    Args:
        step: A fraction of 1 (0.1, 0.05, ...).

    Raises:
        ConfigError: 1 is no multiple of it.
    """
    parts = round(1.0 / step) if step > 0 else 0
    if parts < 1 or abs(parts * step - 1.0) > 1e-9:
        raise ConfigError(f"grid step {step}: give a fraction of 1, as 0.1 or 0.05")
    return tuple(
        (i / parts, j / parts, (parts - i - j) / parts)
        for i in range(parts + 1)
        for j in range(parts + 1 - i)
    )


def search(
    scores: StageScores,
    injected: IntArray,
    base: CharmSettings,
    axes: Axes,
    *,
    window: tuple[int, int] = (-100, 1),
) -> Grid:
    """Detection and false alarms of every setting.

    Args:
        scores: Of n trajectories, injected and clean.
        injected: Shape (n,), 1-based stage of the injection, 0 for a clean trajectory.
        base: Every other option.
        axes: The grid.
        window: Stages that count, relative to the injection: up to i + 1 by default (strict, VI-B); (0, 1) is
            the windowed criterion.

    Raises:
        DataError: Shapes that do not match, or no injected or no clean trajectory.
    """
    if injected.shape != (scores.n,):
        raise DataError(f"injected: shape {injected.shape}, expected ({scores.n},)")
    faulty = injected > 0
    if not faulty.any() or faulty.all():
        raise DataError("a grid needs injected and clean trajectories")
    stage = np.arange(1, scores.stages + 1)[None, :]
    low, high = injected[:, None] + window[0], injected[:, None] + window[1]
    counts = np.where(faulty[:, None], (stage >= low) & (stage <= high), True)
    cpm = cpm_signal(scores, base.cpm, base.sfv.anchor)
    thetas = np.asarray(axes.theta)
    shape = (len(axes.tau), len(axes.drift_threshold), len(axes.weights), len(thetas))
    detected, alarms = np.empty(shape), np.empty(shape)
    for (i, tau), (j, drift) in product(enumerate(axes.tau), enumerate(axes.drift_threshold)):
        sfv = sfv_signal(scores, replace(base.sfv, tau=tau))
        csct = csct_signal(scores, replace(base.csct, drift_threshold=drift))
        signals = used(np.stack([sfv, csct, cpm], axis=-1), base.trigger.components)
        peaks = _peaks(signals, counts, axes.weights, base)
        detected[i, j] = _shares(peaks[:, faulty], thetas, base.trigger.strict)
        alarms[i, j] = _shares(peaks[:, ~faulty], thetas, base.trigger.strict)
    return Grid(axes, detected, alarms)


def _peaks(
    signals: FloatArray, counts: npt.NDArray[np.bool_], weights: Sequence[Weights], base: CharmSettings
) -> FloatArray:
    """Largest score among the stages that count, shape (weights, n); -inf where there is none."""
    found = np.empty((len(weights), signals.shape[0]))
    for k, each in enumerate(weights):
        p = cascade_score(signals, replace(base.trigger, weights=each))
        found[k] = np.where(counts & ~np.isnan(p), p, -np.inf).max(axis=1)
    return found


def _shares(peaks: FloatArray, thetas: FloatArray, strict: bool) -> FloatArray:
    """Share of trajectories whose peak passes each theta, shape (weights, thetas)."""
    order = np.sort(peaks, axis=1)
    side = "right" if strict else "left"
    below = np.stack([np.searchsorted(row, thetas, side=side) for row in order])  # type: ignore[call-overload]
    shares: FloatArray = 1.0 - below / peaks.shape[1]
    return shares

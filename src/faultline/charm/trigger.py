"""Cascade resolution trigger: the weighted vote of the signals (paper 1, Eq. 1 and IV-B 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultline.charm.options import require_between, require_choice
from faultline.charm.scores import BoolArray, FloatArray, IntArray
from faultline.errors import ConfigError

COMPONENTS = ("sfv", "csct", "cpm")
"""Names on the last axis of ``signals``, in order."""


@dataclass(frozen=True, slots=True)
class TriggerSettings:
    """Options of the trigger.

    Attributes:
        weights: Of sfv, csct and cpm, not negative, with a sum in (0, 1].
        theta: Threshold, in [0, 1]; 0.55 in the paper.
        strict: Flag at p > theta ("exceeds", IV-B) instead of p >= theta (Eq. 1 and Algorithm 1).
        renormalise: Divide by the weight of the components that gave a signal. Otherwise an absent one adds
            nothing, and one component alone cannot reach its own weight, let alone theta.
        components: Those in use, for ablations.

    Raises:
        ConfigError: An unknown or impossible value.
    """

    weights: tuple[float, float, float] = (0.4, 0.4, 0.2)
    theta: float = 0.55
    strict: bool = False
    renormalise: bool = False
    components: tuple[str, ...] = COMPONENTS

    def __post_init__(self) -> None:
        if len(self.weights) != len(COMPONENTS):
            raise ConfigError(f"trigger.weights={self.weights}: give three, for {', '.join(COMPONENTS)}")
        for weight in self.weights:
            require_between("trigger.weights", weight, 0.0, 1.0)
        total = self.weights[0] + self.weights[1] + self.weights[2]
        if not 0.0 < total <= 1.0 + 1e-9:
            raise ConfigError(f"trigger.weights={self.weights} sum to {total:g}: give a sum in (0, 1]")
        require_between("trigger.theta", self.theta, 0.0, 1.0)
        for component in self.components:
            require_choice("trigger.components", component, COMPONENTS)
        if not self.components:
            raise ConfigError(f"trigger.components is empty: choose from {', '.join(COMPONENTS)}")


def used(signals: FloatArray, components: tuple[str, ...]) -> FloatArray:
    """The signals with the components that are not in use set to NaN; shape (..., 3) as given."""
    kept = signals.copy()
    for k, component in enumerate(COMPONENTS):
        if component not in components:
            kept[..., k] = np.nan
    return kept


def cascade_score(signals: FloatArray, settings: TriggerSettings) -> FloatArray:
    """The score p of Eq. 1, in [0, 1].

    Args:
        signals: Shape (..., 3), NaN where a component is absent.
        settings: Options; ``components`` is applied here too.

    Returns:
        Shape (...), NaN where every component with a weight is absent.
    """
    total = np.zeros(signals.shape[:-1])
    at_hand = np.zeros(signals.shape[:-1])
    for k, component in enumerate(COMPONENTS):
        if component not in settings.components:
            continue
        weight = settings.weights[k]
        given = ~np.isnan(signals[..., k])
        total = total + np.where(given, weight * signals[..., k], 0.0)
        at_hand = at_hand + np.where(given, weight, 0.0)
    some = at_hand > 0.0
    divisor = at_hand if settings.renormalise else np.ones_like(at_hand)
    return np.divide(total, divisor, out=np.full_like(total, np.nan), where=some)


def flag(p: FloatArray, settings: TriggerSettings) -> BoolArray:
    """Where the trigger fires, the shape of p; never where p is NaN."""
    return p > settings.theta if settings.strict else p >= settings.theta


def first_flag(flagged: BoolArray, start: IntArray | int = 1) -> IntArray:
    """1-based stage of the first flag at or after ``start``, shape (n,); 0 where there is none.

    Args:
        flagged: Shape (n, S).
        start: 1-based stage, one for all or shape (n,).
    """
    stage = np.arange(1, flagged.shape[1] + 1)
    hits = flagged & (stage[None, :] >= np.reshape(start, (-1, 1)))
    if flagged.shape[1] == 0:
        return np.zeros(flagged.shape[0], dtype=np.int64)
    return np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, 0).astype(np.int64)

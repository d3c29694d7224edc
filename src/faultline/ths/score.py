"""THS: the weighted aggregate of the five KPIs (paper 3, Eq. 1), its decomposition and its sign reversal.

Arrays end in the KPI axis, in the order of :data:`KPIS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

KPIS = ("FCD", "FGR", "FDF", "ECS", "OSR")
"""Factual claim density, grounding references, disclaimers, contextualization, observability."""

SIGNS = (1.0, 1.0, -1.0, -1.0, -1.0)
"""FCD and FGR are lower-is-better, the other three higher-is-better; a lower THS is better."""

N_AGENTS = 3
"""N_A of Eq. 1: the agents in the mitigation path."""

WEIGHTINGS: Mapping[str, tuple[float, float, float, float, float]] = {
    "Baseline": (0.200, 0.200, 0.200, 0.200, 0.200),
    "ObservabilityAware": (0.125, 0.125, 0.250, 0.250, 0.250),
    "SecurityFirst": (0.250, 0.250, 0.167, 0.167, 0.166),
    "ResearchMode": (0.100, 0.100, 0.267, 0.267, 0.266),
    "ExtremeObservability": (0.080, 0.080, 0.280, 0.280, 0.280),
}
"""w1..w5 of paper 3, Table 2. A row is compared only with itself: the weights alone order the rows."""

FOUR_KPI = (0.25, 0.25, 0.25, 0.25, 0.0)
"""The paper's primary convention: w5 = 0."""


def ths(kpis: npt.ArrayLike, weights: Sequence[float], n_agents: int = N_AGENTS) -> FloatArray:
    """THS of KPI vectors (paper 3, Eq. 1); more negative is better.

    Args:
        kpis: Shape (..., 5), each in [0, 1].
        weights: w1..w5, non-negative, not all zero; they need not sum to one.
        n_agents: N_A.

    Returns:
        Shape (...).

    Raises:
        ValueError: Wrong number of KPIs or weights, or weights that are negative or sum to zero.
    """
    values = np.asarray(kpis, dtype=np.float64)
    if values.shape[-1:] != (len(KPIS),):
        raise ValueError(f"kpis end in an axis of {values.shape[-1:]}, expected {len(KPIS)}")
    return np.asarray((values * coefficients(weights, n_agents)).sum(axis=-1), dtype=np.float64)


def coefficients(weights: Sequence[float], n_agents: int = N_AGENTS) -> FloatArray:
    """What each KPI is multiplied by in Eq. 1, shape (5,).

    Raises:
        ValueError: Not five weights, a negative weight, or all zero.
    """
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (len(KPIS),) or bool((w < 0).any()) or w.sum() == 0.0:
        raise ValueError(f"weights {list(weights)}: expected five non-negative numbers, not all zero")
    return np.asarray(w * np.asarray(SIGNS) / (n_agents * w.sum()), dtype=np.float64)


def attainable_range(weights: Sequence[float], n_agents: int = N_AGENTS) -> tuple[float, float]:
    """The lowest and highest THS that KPIs in [0, 1] can give (paper 3, section 5)."""
    c = coefficients(weights, n_agents)
    return float(c[c < 0].sum()), float(c[c > 0].sum())


def range_share(change: float, weights: Sequence[float], n_agents: int = N_AGENTS) -> float:
    """The size of a change as a share of the attainable range, in [0, 1]; 1/3 wide for any weighting."""
    low, high = attainable_range(weights, n_agents)
    return abs(change) / (high - low)


def contributions(
    before: npt.ArrayLike, after: npt.ArrayLike, weights: Sequence[float], n_agents: int = N_AGENTS
) -> FloatArray:
    """What each KPI adds to the change of THS; the terms sum exactly to the change, since THS is linear.

    Args:
        before: KPI vectors, shape (..., 5).
        after: The same at a later stage.

    Returns:
        Shape (..., 5).
    """
    delta = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    return np.asarray(delta * coefficients(weights, n_agents), dtype=np.float64)


def shares(terms: npt.ArrayLike, floor: float = 1e-12) -> FloatArray | None:
    """Contributions as shares of their sum, None where the sum is too near zero to divide by.

    Args:
        terms: Shape (5,).
        floor: Smallest size of the sum that is divided by.
    """
    values = np.asarray(terms, dtype=np.float64)
    total = float(values.sum())
    return None if abs(total) < floor else values / total


def weights_with_osr(w5: float) -> tuple[float, float, float, float, float]:
    """The line of weightings of section 6.1: w1..w4 = (1 - w5) / 4."""
    rest = (1.0 - w5) / 4.0
    return rest, rest, rest, rest, w5


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where raising w5 alone reverses the sign of the end-to-end change; None if nothing in [0, 1] does."""

    w5: float | None
    change_at_zero: float
    change_at_one: float


def crossing(before: npt.ArrayLike, after: npt.ArrayLike, n_agents: int = N_AGENTS) -> Crossing:
    """The w5 at which the change of mean THS is zero, other weights equal (paper 3, section 6.1).

    The change is linear in w5, so two ends give the zero exactly.

    Args:
        before: Mean KPI vector, shape (5,).
        after: The same at the last stage.
    """
    ends = [float(contributions(before, after, weights_with_osr(w), n_agents).sum()) for w in (0.0, 1.0)]
    if ends[0] == ends[1] or min(ends) > 0 or max(ends) < 0:
        return Crossing(None, *ends)
    return Crossing(ends[0] / (ends[0] - ends[1]), *ends)

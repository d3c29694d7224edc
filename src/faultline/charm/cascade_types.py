"""Which of the four kinds of cascade the signals look like (paper 1, III-D, Table II and Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from faultline.charm.options import require_above, require_choice
from faultline.charm.scores import FloatArray, IntArray
from faultline.errors import ConfigError, DataError

CASCADE_TYPES = ("retrieval", "inference", "poisoning", "inflation")
NO_TYPE = ""
"""Stands where nothing is flagged, or where a flag has no signal to judge by."""

Vector = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Profiles:
    """One direction in (sfv, csct, cpm) a type, as data; only the direction counts.

    The default is the incidence of Table II: SFV detects retrieval and inference cascades, CSCT inference and
    poisoning, CPM inflation. It agrees with the "primary signals" of III-D, which give no numbers.

    Attributes:
        names: The types; the earlier one wins a tie.
        vectors: As many triples, not negative and not all zero.

    Raises:
        ConfigError: Names and vectors do not match, or a vector has no direction.
    """

    names: tuple[str, ...] = CASCADE_TYPES
    vectors: tuple[Vector, ...] = ((1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

    def __post_init__(self) -> None:
        if len(self.names) != len(self.vectors) or len(set(self.names)) != len(self.names):
            raise ConfigError(
                f"profiles: {self.names} and {len(self.vectors)} vectors, give one vector a name"
            )
        for name, vector in zip(self.names, self.vectors, strict=True):
            if len(vector) != 3 or not all(0.0 <= x < math.inf for x in vector) or _norm(vector) == 0.0:
                raise ConfigError(f"profiles.{name}={vector}: give three numbers >= 0, not all zero")

    def units(self) -> tuple[Vector, ...]:
        """The vectors at unit length."""
        return tuple(_unit(vector) for vector in self.vectors)


def infer_type(signals: FloatArray, profiles: Profiles) -> IntArray:
    """Index of the profile with the highest cosine, shape (n,); -1 where no signal is above zero.

    The length of the signal scales all four cosines alike, so it is not divided by.

    Args:
        signals: Shape (n, 3); an absent component (NaN) counts as 0.
        profiles: The directions.
    """
    values = np.where(np.isnan(signals), 0.0, signals)
    best = np.full(values.shape[0], -1, dtype=np.int64)
    highest = np.zeros(values.shape[0])
    for index, (x, y, z) in enumerate(profiles.units()):
        along = values[:, 0] * x + values[:, 1] * y + values[:, 2] * z
        better = along > highest
        best = np.where(better, index, best)
        highest = np.where(better, along, highest)
    return best


def type_names(index: IntArray, profiles: Profiles) -> npt.NDArray[np.str_]:
    """Names for the indices of :func:`infer_type`, :data:`NO_TYPE` for -1."""
    return np.array([*profiles.names, NO_TYPE])[index]


def fit_profiles(
    signals: FloatArray, labels: Sequence[str], prior: Profiles | None = None, prior_cases: float = 10.0
) -> Profiles:
    """Profiles from a validation split: the mean direction of a type, drawn towards the prior.

    The direction is that of ``prior_cases * prior + sum of the cases' unit vectors``, so a type without cases
    keeps the prior. Cases without any signal above zero have no direction and are left out. Sums are exact
    (fsum): the order of cases does not matter.

    Args:
        signals: Shape (m, 3), at the flagged (or injected) stage of labelled cascades; NaN counts as 0.
        labels: m names among the prior's.
        prior: Default :class:`Profiles`.
        prior_cases: How many cases the prior is worth, above 0.

    Raises:
        ConfigError: An unknown label, or a prior without weight.
        DataError: Shapes that do not match.
    """
    base = prior or Profiles()
    require_above("profiles.prior_cases", prior_cases, 0.0)
    if signals.shape != (len(labels), 3):
        raise DataError(
            f"profiles: signals of shape {signals.shape} for {len(labels)} labels, give (labels, 3)"
        )
    for label in sorted(set(labels)):
        require_choice("profiles.label", label, base.names)
    cases = [(label, tuple(row)) for label, row in zip(labels, np.nan_to_num(signals).tolist(), strict=True)]
    directions = [(label, _unit(row)) for label, row in cases if _norm(row) > 0.0]
    fitted = []
    for name, start in zip(base.names, base.units(), strict=True):
        mine = [unit for label, unit in directions if label == name]
        sums = [math.fsum([prior_cases * start[k], *(unit[k] for unit in mine)]) for k in range(3)]
        fitted.append(_unit((sums[0], sums[1], sums[2])))
    return Profiles(base.names, tuple(fitted))


def _norm(vector: Sequence[float]) -> float:
    return math.sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2])


def _unit(vector: Sequence[float]) -> Vector:
    length = _norm(vector)
    return vector[0] / length, vector[1] / length, vector[2] / length

"""A scorer that computes in int8, and again in fp32 what lies near a threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from faultline.errors import ConfigError
from faultline.inference.jobs import Progress
from faultline.inference.nli import NliScorer, Pair, PairScores

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
_ENTAILMENT = 0


def rescore_band(p_int8: npt.ArrayLike, tau: float, width: float) -> BoolArray:
    """Which pairs to score again in fp32: those within ``width`` of the threshold.

    Args:
        p_int8: Shape (n,), in [0, 1].
        tau: The threshold.
        width: Half of the band, >= 0.

    Raises:
        ValueError: A negative width.
    """
    if width < 0:
        raise ValueError(f"width {width}: must be at least 0")
    return np.abs(np.asarray(p_int8, dtype=np.float64) - tau) <= width


@dataclass(frozen=True, slots=True)
class Band:
    """Where int8 is not trusted: within ``width`` of the threshold ``tau`` on P(entailment)."""

    tau: float = 0.72
    width: float = 0.2

    def __post_init__(self) -> None:
        if not 0 <= self.tau <= 1 or not 0 <= self.width <= 1:
            raise ConfigError(f"nli.band: tau={self.tau} and width={self.width} must be in [0, 1]")


class BandedScorer:
    """A Verifier that scores in int8 and decides in fp32 where the threshold is near.

    Args:
        fast: Scores every pair.
        exact: Scores those of the band; the same weights in fp32.
        band: Where.

    Raises:
        ConfigError: The two scorers have different weights.
    """

    version = 1

    def __init__(self, fast: NliScorer, exact: NliScorer, band: Band | None = None) -> None:
        if fast.digest != exact.digest:
            raise ConfigError(
                f"nli: {fast.digest} in int8 against {exact.digest} in fp32: give one checkpoint"
            )
        self.fast, self.exact, self.band = fast, exact, band or Band()
        self.name, self.digest = exact.name, exact.digest
        self.precision = f"{fast.precision}+{exact.precision}@{self.band.tau:g}±{self.band.width:g}"

    @property
    def label2id(self) -> Mapping[str, int]:
        """Logit column of each class, as the checkpoint says."""
        return self.exact.label2id

    def score(self, pairs: Sequence[Pair], progress: Progress | None = None) -> PairScores:
        """Scores of all pairs; those of the band are fp32's. ``plan_id`` is the int8 pass's."""
        first = self.fast.score(pairs, progress)
        near = np.flatnonzero(rescore_band(first.probs[:, _ENTAILMENT], self.band.tau, self.band.width))
        if not near.size:
            return first
        again = self.exact.score([pairs[int(i)] for i in near])
        probs = first.probs.copy()
        probs[near] = again.probs
        return replace(first, probs=probs)

    def verify(self, pairs: Sequence[Pair]) -> FloatArray:
        """(evidence, claim) pairs to probabilities, shape (n, 3): entailment, neutral, contradiction."""
        return self.score(pairs).probs

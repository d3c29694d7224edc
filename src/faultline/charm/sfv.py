"""Stage-level fact verifier: how little the evidence of stage 1 supports a stage (paper 1, IV-B 1, III-F)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultline.charm.options import require_above, require_between, require_choice
from faultline.charm.scores import CONTRADICTION, ENTAILMENT, FloatArray, StageScores

ANCHORS = ("both", "top1", "consensus")
MAPS = ("deficit", "hinge", "step")


@dataclass(frozen=True, slots=True)
class SfvSettings:
    """Options of the verifier.

    Attributes:
        anchor: What supports: ``both`` (the lower of the anchors that apply: "divergence from either",
            III-F), ``top1`` or ``consensus``.
        map: From entailment e to anomaly: ``deficit`` 1 - e (Eq. 2), ``hinge`` max(0, tau - e) / tau,
            ``step`` 1 if e < tau, else 0.
        tau: Entailment threshold, in (0, 1]; 0.72 in the paper. ``deficit`` does not use it.

    Raises:
        ConfigError: An unknown or impossible value.
    """

    anchor: str = "both"
    map: str = "deficit"
    tau: float = 0.72

    def __post_init__(self) -> None:
        require_choice("sfv.anchor", self.anchor, ANCHORS)
        require_choice("sfv.map", self.map, MAPS)
        require_between("sfv.tau", self.tau, 0.0, 1.0)
        require_above("sfv.tau", self.tau, 0.0)


def support(scores: StageScores, anchor: str = "both") -> FloatArray:
    """Entailment of each stage by the anchor, shape (n, S); NaN where no anchor applies.

    Stage 1 has no ``top1`` score (it would be entailed by itself), so ``both`` is the consensus there.
    """
    return _decided(scores, anchor)[0]


def contradiction(scores: StageScores, anchor: str = "both") -> FloatArray:
    """P(contradiction) by the anchor that decided :func:`support`, shape (n, S).

    With ``both`` that is the anchor of lower entailment, ``top1`` on ties. Stage 1 is always judged by the
    consensus, since ``top1`` has nothing to say there.
    """
    chosen = _decided(scores, anchor)[1].copy()
    chosen[:, :1] = scores.consensus[:, :1, CONTRADICTION]
    return chosen


def sfv_signal(scores: StageScores, settings: SfvSettings) -> FloatArray:
    """Anomaly a_sfv in [0, 1], shape (n, S); NaN where no anchor applies."""
    entailment = support(scores, settings.anchor)
    if settings.map == "deficit":
        return np.clip(1.0 - entailment, 0.0, 1.0)
    if settings.map == "hinge":
        return np.maximum(0.0, settings.tau - entailment) / settings.tau
    return np.where(np.isnan(entailment), np.nan, (entailment < settings.tau).astype(np.float64))


def _decided(scores: StageScores, anchor: str) -> tuple[FloatArray, FloatArray]:
    """Entailment and contradiction of the deciding anchor, each of shape (n, S)."""
    require_choice("sfv.anchor", anchor, ANCHORS)
    top1, consensus = scores.top1, scores.consensus
    if anchor != "both":
        only = top1 if anchor == "top1" else consensus
        return only[..., ENTAILMENT], only[..., CONTRADICTION]
    a, b = top1[..., ENTAILMENT], consensus[..., ENTAILMENT]
    first = (a <= b) | np.isnan(b)
    return np.where(first, a, b), np.where(first, top1[..., CONTRADICTION], consensus[..., CONTRADICTION])

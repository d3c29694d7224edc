"""Cross-stage consistency tracker: how far a stage drifts in meaning (paper 1, IV-B 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultline.charm.options import require_between, require_choice
from faultline.charm.scores import FloatArray, StageScores
from faultline.errors import ConfigError

REFERENCES = {
    "previous": "similarity_previous",
    "first": "similarity_first",
    "running_mean": "similarity_mean",
}
MAPS = ("hinge", "step", "raw")


@dataclass(frozen=True, slots=True)
class CsctSettings:
    """Options of the tracker.

    Attributes:
        reference: What a stage is compared with: the ``previous`` stage, the ``first``, or the
            ``running_mean`` of all before it. The paper says "a running check"; ours is ``previous``.
        map: From drift d = 1 - cosine to anomaly: ``hinge`` max(0, d - threshold) / (1 - threshold),
            ``step`` 1 if d > threshold, ``raw`` d; each clipped to [0, 1].
        drift_threshold: In [0, 1); 0.18 in the paper.

    Raises:
        ConfigError: An unknown or impossible value.
    """

    reference: str = "previous"
    map: str = "hinge"
    drift_threshold: float = 0.18

    def __post_init__(self) -> None:
        require_choice("csct.reference", self.reference, REFERENCES)
        require_choice("csct.map", self.map, MAPS)
        require_between("csct.drift_threshold", self.drift_threshold, 0.0, 1.0)
        if self.drift_threshold == 1.0:
            raise ConfigError("csct.drift_threshold=1.0 leaves the hinge no room: give a number below 1")


def drift(scores: StageScores, reference: str = "previous") -> FloatArray:
    """1 - cosine with the reference, in [0, 2], shape (n, S); NaN at stage 1 and where not scored."""
    require_choice("csct.reference", reference, REFERENCES)
    similarity: FloatArray = getattr(scores, REFERENCES[reference])
    return np.clip(1.0 - similarity, 0.0, 2.0)


def csct_signal(scores: StageScores, settings: CsctSettings) -> FloatArray:
    """Anomaly a_csct in [0, 1], shape (n, S): 0 at stage 1, which has nothing to drift from."""
    distance = drift(scores, settings.reference)
    threshold = settings.drift_threshold
    if settings.map == "raw":
        signal = np.clip(distance, 0.0, 1.0)
    elif settings.map == "hinge":
        signal = np.clip((distance - threshold) / (1.0 - threshold), 0.0, 1.0)
    else:
        signal = np.where(np.isnan(distance), np.nan, (distance > threshold).astype(np.float64))
    signal[:, :1] = np.where(scores.present[:, :1], 0.0, np.nan)
    return signal

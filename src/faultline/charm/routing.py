"""Which mitigation a flag asks for (paper 1, Algorithm 1), and when a person is asked (IV-D)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from faultline.charm.options import require_between, require_choice
from faultline.charm.scores import BoolArray, FloatArray, IntArray

ROUTES = ("CRR", "PVA", "PRR", "SCT")
"""Re-retrieval, parallel verification, rollback, confidence gate (M1, M3, M4, M2)."""

NO_ROUTE = ""
HUMAN = "HITL"
GATES = ("confidence", "score", "off")


@dataclass(frozen=True, slots=True)
class RoutingSettings:
    """Options of Algorithm 1 and of the human checkpoint.

    Attributes:
        early_stage: Last stage that is sent to CRR; 2 in the paper.
        late_stage: First stage that is sent to PRR; 4 in the paper.
        sfv: PVA needs a_sfv above this; 0.7 in the paper.
        csct: PVA needs a_csct above this; 0.7 in the paper.
        gate_on: What makes a cascade "high-confidence": the calibrated ``confidence`` of the flagged stage
            (the system hallucinates confidently, IV-D; a stage without one never is), the trigger's
            ``score``, or ``off``.
        gate: High from this value on, in [0, 1]. The paper gives none; 0.8 is a raw confidence of about 0.87
            at T = 1.4.

    Raises:
        ConfigError: An unknown or impossible value.
    """

    early_stage: int = 2
    late_stage: int = 4
    sfv: float = 0.7
    csct: float = 0.7
    gate_on: str = "confidence"
    gate: float = 0.8

    def __post_init__(self) -> None:
        require_choice("routing.gate_on", self.gate_on, GATES)
        require_between("routing.early_stage", self.early_stage, 0, np.inf)
        require_between("routing.late_stage", self.late_stage, 0, np.inf)
        for name in ("sfv", "csct", "gate"):
            require_between(f"routing.{name}", getattr(self, name), 0.0, 1.0)


def route(stage: IntArray, signals: FloatArray, settings: RoutingSettings) -> npt.NDArray[np.str_]:
    """Algorithm 1, lines 9 to 17, in its order; shape (n,).

    Args:
        stage: Shape (n,), 1-based stage of the flag, 0 for none (no route).
        signals: Shape (n, 3) at that stage; an absent signal (NaN) exceeds nothing.
        settings: Options.
    """
    both = (signals[:, 0] > settings.sfv) & (signals[:, 1] > settings.csct)
    conditions = [stage <= 0, stage <= settings.early_stage, both, stage >= settings.late_stage]
    return np.select(conditions, [NO_ROUTE, "CRR", "PVA", "PRR"], default="SCT")


def asks_human(
    stage: IntArray, confidence: FloatArray, p: FloatArray, settings: RoutingSettings
) -> BoolArray:
    """High-confidence cascades, shape (n,): flagged, and the gated value (at the flag) is high.

    Args:
        stage: Shape (n,), 1-based stage of the flag, 0 for none.
        confidence: Shape (n,), calibrated, NaN without one.
        p: Shape (n,), the trigger's score.
        settings: Options.
    """
    if settings.gate_on == "off":
        return np.zeros(stage.shape, dtype=np.bool_)
    value = confidence if settings.gate_on == "confidence" else p
    return (stage > 0) & (value >= settings.gate)

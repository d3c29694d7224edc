"""From stage scores to verdicts: signals, trigger, type and route. Calls no model.

Everything is elementwise, with sums in a fixed order, so a row gives the same bits alone as in any batch, and
a stage the same bits whether or not later stages are there yet: the live guard runs this code on one row.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from faultline.charm.cascade_types import Profiles, infer_type, type_names
from faultline.charm.cpm import CpmSettings, calibrated, cpm_signal, uses_contradiction
from faultline.charm.csct import CsctSettings, csct_signal
from faultline.charm.routing import HUMAN, RoutingSettings, asks_human, route
from faultline.charm.scores import BoolArray, FloatArray, IntArray, StageScores
from faultline.charm.sfv import SfvSettings, sfv_signal
from faultline.charm.trigger import TriggerSettings, cascade_score, first_flag, flag, used


@dataclass(frozen=True, slots=True)
class CharmSettings:
    """All options of a decision; the defaults are the paper's where it gives one."""

    sfv: SfvSettings = field(default_factory=SfvSettings)
    csct: CsctSettings = field(default_factory=CsctSettings)
    cpm: CpmSettings = field(default_factory=CpmSettings)
    trigger: TriggerSettings = field(default_factory=TriggerSettings)
    routing: RoutingSettings = field(default_factory=RoutingSettings)
    profiles: Profiles = field(default_factory=Profiles)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What CHARM says of n trajectories with S stages.

    Attributes:
        signals: Shape (n, S, 3), a_sfv, a_csct and a_cpm in [0, 1]; NaN where absent or not in use.
        p: Shape (n, S), the trigger's score; NaN at stages that are not present or have no signal.
        flagged: Shape (n, S).
        first: Shape (n,), 1-based stage of the first flag, 0 for never.
        cascade_type: Shape (n,), inferred at the first flag, "" without one.
        route: Shape (n,), Algorithm 1 at the first flag, "" without one.
        human: Shape (n,), high-confidence cascades that go to the human checkpoint instead.
        confidence: Shape (n, S), calibrated, NaN where none was stated.
        cpm_fallback: Shape (n,), rows whose monitor watched contradiction instead of confidence.
    """

    signals: FloatArray
    p: FloatArray
    flagged: BoolArray
    first: IntArray
    cascade_type: npt.NDArray[np.str_]
    route: npt.NDArray[np.str_]
    human: BoolArray
    confidence: FloatArray
    cpm_fallback: BoolArray

    @property
    def action(self) -> npt.NDArray[np.str_]:
        """Shape (n,): ``HITL`` for high-confidence cascades, else the route."""
        return np.where(self.human, HUMAN, self.route)

    @property
    def scored(self) -> BoolArray:
        """Shape (n,): trajectories with a score at some stage. The others are missing, not clean."""
        return np.asarray(~np.isnan(self.p).all(axis=1))


def stage_signals(scores: StageScores, settings: CharmSettings) -> FloatArray:
    """a_sfv, a_csct and a_cpm of each stage, shape (n, S, 3), in [0, 1] or NaN, ablations not yet applied."""
    return np.stack(
        [
            sfv_signal(scores, settings.sfv),
            csct_signal(scores, settings.csct),
            cpm_signal(scores, settings.cpm, settings.sfv.anchor),
        ],
        axis=-1,
    )


def decide(scores: StageScores, settings: CharmSettings | None = None) -> Verdicts:
    """Verdicts on every trajectory.

    Args:
        scores: Of n trajectories.
        settings: Default the paper's.
    """
    options = settings or CharmSettings()
    signals = used(stage_signals(scores, options), options.trigger.components)
    p = cascade_score(signals, options.trigger)
    flagged = flag(p, options.trigger)
    first = first_flag(flagged)
    confidence = calibrated(scores.confidence, options.cpm.temperature)
    row, column = np.arange(scores.n), np.maximum(first - 1, 0)
    at_flag = signals[row, column]
    index = np.where(first > 0, infer_type(at_flag, options.profiles), -1)
    return Verdicts(
        signals=signals,
        p=p,
        flagged=flagged,
        first=first,
        cascade_type=type_names(index, options.profiles),
        route=route(first, at_flag, options.routing),
        human=asks_human(first, confidence[row, column], p[row, column], options.routing),
        confidence=confidence,
        cpm_fallback=uses_contradiction(scores, options.cpm),
    )

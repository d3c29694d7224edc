"""One stage judged as it is finished: the batch decisions of one row (paper 1, Algorithm 1, line by line)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from faultline.charm.cascade_types import infer_type, type_names
from faultline.charm.decide import CharmSettings, decide
from faultline.charm.routing import HUMAN, asks_human, route
from faultline.charm.scores import CONTRADICTION, ENTAILMENT, StageScores
from faultline.charm.sfv import contradiction, support
from faultline.charm.trigger import COMPONENTS
from faultline.errors import DataError


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a person needs to see.

    Attributes:
        claim: The stage text.
        passage: The text that supports it least, of the anchors in use; empty if there is none.
        anchor: ``top1`` or ``consensus``, empty without one.
        entailment: Of the claim by that passage, None if not scored.
        contradiction: The same.
    """

    claim: str
    passage: str = ""
    anchor: str = ""
    entailment: float | None = None
    contradiction: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What CHARM says of one stage.

    Attributes:
        stage: 1-based.
        score: p of Eq. 1 in [0, 1]; None where the stage could not be scored (never a clean bill).
        signals: a_sfv, a_csct, a_cpm by name, None where absent or not in use.
        flagged: Whether the trigger fires at this stage.
        first: 1-based stage of the first flag of the trajectory so far, 0 for none.
        cascade_type: Inferred type of a flagged stage, else empty.
        route: Algorithm 1 of a flagged stage (CRR, PVA, PRR, SCT), else empty.
        human: A high-confidence cascade: goes to the human checkpoint instead of its route (IV-D).
        confidence: Calibrated, None where none was stated.
        fallback: The confidence monitor watched contradiction instead.
        reasons: Plain sentences, one a signal that speaks.
        evidence: Claim and passage, with what the verifier said.
    """

    stage: int
    score: float | None
    signals: dict[str, float | None]
    flagged: bool
    first: int
    cascade_type: str
    route: str
    human: bool
    confidence: float | None
    fallback: bool
    reasons: tuple[str, ...] = ()
    evidence: Evidence = field(default_factory=lambda: Evidence(""))

    @property
    def action(self) -> str:
        """``HITL`` for a high-confidence cascade, else the route; empty if not flagged."""
        return HUMAN if self.human else self.route

    @property
    def scored(self) -> bool:
        """Whether there is a score."""
        return self.score is not None

    def record(self) -> dict[str, Any]:
        """As JSON, texts included."""
        return {**asdict(self), "action": self.action}


def verdict_at(scores: StageScores, settings: CharmSettings, texts: Evidence | None = None) -> Verdict:
    """The verdict on the last stage of one row: the bits that a batch gives that stage.

    Type, route and human checkpoint are those of THIS stage if it is flagged; at the first flag they are the
    batch's. A later flag is judged by its own signals, since a mitigation may lie between.

    Args:
        scores: One trajectory, cut after the stage at hand.
        settings: Options.
        texts: Claim and passage for the reader; numbers are filled in here.

    Raises:
        DataError: Not one row, or no stage.
    """
    if scores.n != 1 or scores.stages < 1:
        raise DataError(f"verdict: {scores.n} rows of {scores.stages} stages, give one row with a stage")
    batch = decide(scores, settings)
    last = scores.stages - 1
    flagged = bool(batch.flagged[0, last])
    at = np.array([scores.stages if flagged else 0])
    signals = batch.signals[:, last]
    kind = np.where(at > 0, infer_type(signals, settings.profiles), -1)
    confidence, p = batch.confidence[:, last], batch.p[:, last]
    entailment = _number(support(scores, settings.sfv.anchor)[0, last])
    against = _number(contradiction(scores, settings.sfv.anchor)[0, last])
    shown = texts or Evidence("")
    verdict = Verdict(
        stage=scores.stages,
        score=_number(p[0]),
        signals={name: _number(signals[0, k]) for k, name in enumerate(COMPONENTS)},
        flagged=flagged,
        first=int(batch.first[0]),
        cascade_type=str(type_names(kind, settings.profiles)[0]),
        route=str(route(at, signals, settings.routing)[0]),
        human=bool(asks_human(at, confidence, p, settings.routing)[0]),
        confidence=_number(confidence[0]),
        fallback=bool(batch.cpm_fallback[0]),
        evidence=Evidence(shown.claim, shown.passage, shown.anchor, entailment, against),
    )
    return _explained(verdict, settings)


def deciding_anchor(scores: StageScores, anchor: str) -> str:
    """Which anchor supports the last stage of one row least; empty if none was scored."""
    last = scores.stages - 1
    found = {
        name: float(getattr(scores, name)[0, last, ENTAILMENT])
        for name in (("top1", "consensus") if anchor == "both" else (anchor,))
    }
    known = {name: value for name, value in found.items() if not np.isnan(value)}
    if not known and last == 0 and not np.isnan(scores.consensus[0, 0, CONTRADICTION]):
        return "consensus"
    return min(known, key=lambda name: known[name]) if known else ""


def _explained(verdict: Verdict, settings: CharmSettings) -> Verdict:
    told = []
    if verdict.score is None:
        told.append("not scored: the stage has no text, or no anchor could be read")
    if verdict.evidence.entailment is not None and (verdict.signals["sfv"] or 0.0) > 0.0:
        told.append(f"the evidence entails the claim with {verdict.evidence.entailment:.2f}")
    if (verdict.signals["csct"] or 0.0) > 0.0:
        told.append(f"meaning drifts from its {settings.csct.reference} by {verdict.signals['csct']:.2f}")
    if (verdict.signals["cpm"] or 0.0) > 0.0:
        what = "contradiction" if verdict.fallback else "confidence"
        told.append(f"{what} is above what was expected by {verdict.signals['cpm']:.2f}")
    if verdict.flagged:
        sign = ">" if settings.trigger.strict else ">="
        told.append(f"p = {verdict.score:.3f} {sign} theta = {settings.trigger.theta:g}")
    return replace(verdict, reasons=tuple(told))


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)

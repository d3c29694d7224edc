"""What a diagnoser sees of a failed trace, and what it says about it (paper 2, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from faultline.attribution.outcomes import is_correct
from faultline.errors import ConfigError
from faultline.interventions.probe import ProbeResult, Probes
from faultline.records import Gold, Stage

FailureStage = Literal["retrieval", "tool", "answer_generation", "none"]
SUPPORTED = 0.8
"""Share of an answer's tokens that must stand in one document for the answer to count as supported."""


@dataclass(frozen=True, slots=True)
class Case:
    """A trace to diagnose.

    Attributes:
        id: Of the trace.
        question: The question.
        hops: Its hops.
        answer: Its answer, None if it has none.
        support: Share of the answer's tokens in one document of the trace.
        gold: The annotation, only for a diagnoser that declares ``needs_gold``.
        probes: Interventions on the trace.
    """

    id: str
    question: str
    hops: tuple[Stage, ...]
    answer: str | None
    support: float
    gold: Gold | None
    probes: Probes

    @property
    def annotation(self) -> Gold:
        """The annotation.

        Raises:
            ConfigError: The diagnoser reads it without declaring ``needs_gold``.
        """
        if self.gold is None:
            raise ConfigError(f"{self.id}: a diagnoser reads the annotation without needs_gold")
        return self.gold


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Which hop is to blame.

    Attributes:
        stage: What failed there.
        hop: 1-based; 0 where the diagnoser names none.
        tokens: Of its probes, charged as if nothing were shared; None where a server did not count them.
        placebo_tokens: Of its null repairs, charged apart.
        probabilities: By hop (1 to one beyond the trace), empty if it gives none.
        reason: Why no hop is named, empty if one is.
        probes: How many it made.
    """

    stage: FailureStage
    hop: int
    tokens: int | None = 0
    placebo_tokens: int = 0
    probabilities: tuple[float, ...] = ()
    reason: str = ""
    probes: int = 0


class Diagnoser(Protocol):
    """Names the hop that caused a failure."""

    @property
    def name(self) -> str:
        """As in the results table."""
        ...

    @property
    def needs_gold(self) -> bool:
        """Whether it reads the annotation."""
        ...

    def diagnose(self, case: Case) -> Diagnosis:
        """The hop, from the trace and its interventions."""
        ...


def right(answer: str | None, gold: Gold) -> bool:
    """Whether an answer is correct as published (recall of .8 or equality), for any accepted answer."""
    return answer is not None and any(is_correct(answer, accepted) for accepted in gold.answers)


def flips(case: Case, result: ProbeResult) -> bool:
    """Whether an intervention repaired the trace.

    With gold: the new answer is correct. Without: there is an answer, it differs, and it is supported by one
    document of the new trace.
    """
    if case.gold is not None:
        return right(result.answer, case.gold)
    if result.answer is None or result.support < SUPPORTED:
        return False
    return case.answer is None or not is_correct(result.answer, case.answer)

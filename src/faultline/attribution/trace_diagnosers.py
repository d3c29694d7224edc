"""Diagnosers that read the trace and act on nothing: the paper's rules and coverage gate, and controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from faultline.attribution.diagnosis import SUPPORTED, Case, Diagnosis, FailureStage, right
from faultline.attribution.outcomes import covered, tokens
from faultline.records import Stage
from faultline.stats import generator

GATE = 0.05
"""Token Jaccard below which the paper's gate calls a hop uncovered."""
HALF = 0.5
STOP = frozenset(
    ("a", "an", "and", "at", "by", "for", "in", "is", "of", "on", "or", "that", "the", "to", "was")
) | frozenset(("are", "were", "what", "when", "where", "which", "who"))


def jaccard(a: Sequence[str], b: Sequence[str]) -> float:
    """Shared share of two token sets; 0 for two empty ones."""
    first, second = set(a), set(b)
    return len(first & second) / len(first | second) if first | second else 0.0


def document_tokens(hop: Stage) -> list[str]:
    """All tokens of a hop's documents."""
    return [word for hit in hop.hits for word in tokens(hit.passage.rendered)]


def best_share(needle: str, hop: Stage) -> float:
    """Largest share of a needle's content tokens in one document of a hop; 0 for no documents."""
    content = " ".join(word for word in tokens(needle) if word not in STOP) or needle
    return max((covered(content, hit.passage.rendered) for hit in hop.hits), default=0.0)


def first_where(hops: Sequence[Stage], shares: Sequence[float], below: float) -> Diagnosis:
    """The first hop whose share is below a limit; the answer stage, hop 0, if there is none."""
    for hop, share in zip(hops, shares, strict=True):
        if share < below:
            return Diagnosis("retrieval", hop.index)
    return Diagnosis("answer_generation", 0, reason="covered")


@dataclass(frozen=True, slots=True)
class RuleBased:
    """Ordered tests: no documents, no searches, no answer, answer unlike the documents, wrong answer."""

    name: str = "rule_based"
    needs_gold: bool = True

    def diagnose(self, case: Case) -> Diagnosis:
        """The hop is the first empty one, or 1 if retrieval is to blame, else 0."""
        stage = self._stage(case)
        empty = next((hop.index for hop in case.hops if not hop.hits), None)
        hop = empty if empty is not None else (1 if stage == "retrieval" else 0)
        return Diagnosis(stage, hop, reason="" if hop else stage)

    def _stage(self, case: Case) -> FailureStage:
        if any(not hop.hits for hop in case.hops):
            return "retrieval"
        if not case.hops:
            return "tool"
        words = [word for hop in case.hops for word in document_tokens(hop)]
        if not case.answer or jaccard(tokens(case.answer), words) < GATE:
            return "answer_generation"
        return "none" if right(case.answer, case.annotation) else "answer_generation"


@dataclass(frozen=True, slots=True)
class JaccardGate:
    """The paper's coverage: the first hop whose documents have a token Jaccard below .05 with the gold."""

    name: str = "jaccard_gate"
    needs_gold: bool = True

    def diagnose(self, case: Case) -> Diagnosis:
        """The first uncovered hop."""
        gold = tokens(case.annotation.answers[0])
        return first_where(case.hops, [jaccard(gold, document_tokens(hop)) for hop in case.hops], GATE)


@dataclass(frozen=True, slots=True)
class RecallCoverage:
    """Control: the first hop whose best document holds less than half of the gold answer's tokens."""

    name: str = "gold_recall_coverage"
    needs_gold: bool = True

    def diagnose(self, case: Case) -> Diagnosis:
        """The first uncovered hop."""
        gold = case.annotation.answers[0]
        return first_where(case.hops, [best_share(gold, hop) for hop in case.hops], HALF)


@dataclass(frozen=True, slots=True)
class SubAnswerCoverage:
    """Control: the first hop whose best document holds less than .8 of its OWN annotated answer."""

    name: str = "sub_answer_coverage"
    needs_gold: bool = True

    def diagnose(self, case: Case) -> Diagnosis:
        """The first uncovered hop; a hop that the plan does not have counts as covered."""
        plan = case.annotation.hops
        shares = [
            best_share(plan[hop.index - 1].answer, hop) if hop.index <= len(plan) else 1.0
            for hop in case.hops
        ]
        found = first_where(case.hops, shares, SUPPORTED)
        if not found.hop and len(case.hops) < len(plan):
            return Diagnosis("answer_generation", len(case.hops) + 1)
        return found


@dataclass(frozen=True, slots=True)
class DoctorRag:
    """Doctor-RAG (arXiv 2604.00865), lexical: a gold-free sufficiency gate, then the earliest wrong action.

    Sufficient evidence (one document holds the answer) admits format and reasoning errors: the first hop that
    read what its documents do not say. Insufficient evidence admits retriever and search errors: the first
    hop whose documents do not cover its query.
    """

    name: str = "doctor_rag"
    needs_gold: bool = False

    def diagnose(self, case: Case) -> Diagnosis:
        """The smallest erroneous action among the admissible types."""
        if case.answer is not None and case.support >= SUPPORTED:
            shares = [best_share(hop.answer, hop) if hop.answer else 0.0 for hop in case.hops]
            return first_where(case.hops, shares, SUPPORTED)
        found = first_where(case.hops, [best_share(hop.query, hop) for hop in case.hops], HALF)
        return found if found.hop or not case.hops else Diagnosis("retrieval", case.hops[-1].index)


@dataclass(frozen=True, slots=True)
class FirstUnread:
    """Control, gold-free: the first hop at which nothing could be read."""

    name: str = "first_unread_hop"
    needs_gold: bool = False

    def diagnose(self, case: Case) -> Diagnosis:
        """The first hop without a value."""
        return first_where(case.hops, [0.0 if hop.answer is None else 1.0 for hop in case.hops], HALF)


@dataclass(frozen=True, slots=True)
class ConstantHop:
    """Control: always the same hop."""

    hop: int
    needs_gold: bool = False

    @property
    def name(self) -> str:
        """``constant_hop_1``, ..."""
        return f"constant_hop_{self.hop}"

    def diagnose(self, case: Case) -> Diagnosis:
        """The constant."""
        return Diagnosis("retrieval", self.hop)


@dataclass(frozen=True, slots=True)
class RandomHop:
    """Control: a uniform choice among the trace's hops."""

    seed: int = 0
    name: str = "random_hop"
    needs_gold: bool = False

    def diagnose(self, case: Case) -> Diagnosis:
        """A hop of the trace."""
        count = max(1, len(case.hops))
        hop = int(generator(self.seed, case.id, self.name).integers(1, count + 1))
        return Diagnosis("retrieval", hop, probabilities=(1.0 / count,) * count)


def trace_diagnosers(
    seed: int = 0,
) -> tuple[
    RuleBased
    | JaccardGate
    | RecallCoverage
    | SubAnswerCoverage
    | DoctorRag
    | FirstUnread
    | ConstantHop
    | RandomHop,
    ...,
]:
    """All of this file; constants for hops 1 to 3."""
    constants = tuple(ConstantHop(hop) for hop in (1, 2, 3))
    gold = (RuleBased(), JaccardGate(), RecallCoverage(), SubAnswerCoverage())
    return (*gold, DoctorRag(), FirstUnread(), *constants, RandomHop(seed))

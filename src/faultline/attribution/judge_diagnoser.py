"""The LLM judge of paper 2 as a diagnoser of hop-loop traces, in three protocols, with and without gold."""

from __future__ import annotations

from dataclasses import dataclass

from faultline.attribution.diagnosis import Case, Diagnosis, right
from faultline.judges.step_judge import Chat, Log, judge
from faultline.records import Stage


@dataclass(frozen=True, slots=True)
class LlmJudge:
    """Asks a chat model which hop of a trace went wrong.

    Attributes:
        chat: The model.
        protocol: One of :data:`faultline.judges.step_judge.PROTOCOLS`.
        needs_gold: Whether the model is shown the correct answer (the paper's judge is).
        max_chars: Longest request; a longer trace gives no verdict.
        label: What stands before the protocol in the name.
    """

    chat: Chat
    protocol: str
    needs_gold: bool
    max_chars: int | None = None
    label: str = "llm_judge"

    @property
    def name(self) -> str:
        """``llm_judge_all_at_once``, with ``_goldfree`` for the judge that is not shown the answer."""
        return f"{self.label}_{self.protocol}" + ("" if self.needs_gold else "_goldfree")

    def diagnose(self, case: Case) -> Diagnosis:
        """The hop that the model names; the step after the last hop is the answer."""
        if case.gold is not None and right(case.answer, case.gold):
            return Diagnosis("none", 0, reason="correct")
        said = judge(self.chat, trace_log(case), self.protocol, max_chars=self.max_chars)
        tokens = said.tokens
        if said.missing is not None:
            return Diagnosis("none", 0, tokens, reason=str(said.missing), probes=said.calls)
        if not said.step:
            return Diagnosis("none", 0, tokens, reason="none_named", probes=said.calls)
        stage = "retrieval" if said.step <= len(case.hops) else "answer_generation"
        return Diagnosis(stage, said.step, tokens, probes=said.calls)  # type: ignore[arg-type]


def trace_log(case: Case) -> Log:
    """A trace as numbered steps: one a hop (query, documents, what was read), then the answer."""
    steps = (*(_hop(hop) for hop in case.hops), f"Answer: {case.answer or 'none'}")
    gold = case.gold.answers[0] if case.gold is not None else None
    return Log(case.question, steps, case.answer or "none", gold)


def _hop(hop: Stage) -> str:
    documents = " | ".join(hit.passage.rendered for hit in hop.hits) or "nothing"
    return f"searched: {hop.query}\nreturned: {documents}\nread: {hop.answer or 'nothing'}"

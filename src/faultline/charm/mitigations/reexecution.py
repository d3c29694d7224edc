"""CRR and PRR: the pipeline acts again, from the first stage or from the last clean one (paper 1, V).

One re-execution a flag, never a loop. What it meets is the caller's to say: after a fault in one call the
clean environment, after one in the corpus or the context the same faulty one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from faultline.charm.scores import FloatArray
from faultline.records import Action, ActionKind, Agent, Environment, Hint, Hit, Policy, Stage, State, Task

HINT = "An earlier attempt went wrong after this point: take each value from the passages, and check it."
"""PRR's prompt adjustment. It asserts no value, so the reader, which follows values only, ignores it."""


@dataclass(frozen=True, slots=True)
class Flagged:
    """A flagged run, and what acting again needs.

    Attributes:
        task: The task.
        stages: The run.
        agent: Who ran it.
        policy: Who acted.
        working: What a re-execution meets.
    """

    task: Task
    stages: tuple[Stage, ...]
    agent: Agent
    policy: Policy
    working: Environment


@dataclass(frozen=True, slots=True)
class Mitigated:
    """The new run; ``redone`` of its stages were executed again."""

    stages: tuple[Stage, ...]
    redone: int


def crr(case: Flagged, sample: int = 1) -> Mitigated:
    """Corrective re-retrieval (M1): from the first stage, its query widened by the question."""
    stages = case.agent.run(case.task, case.working, _Widened(case.policy), sample=sample)
    return Mitigated(stages, len(stages))


def prr(case: Flagged, keep: int, sample: int = 1) -> Mitigated:
    """Progressive rollback (M4): stages up to ``keep`` stay, a hint is added, the rest is executed again.

    Args:
        case: The run.
        keep: 1-based last clean stage, 0 for none; see :func:`last_clean`.
        sample: Repeats are different samples.
    """
    kept = case.stages[:keep]
    environment = _Rolled(case.working, kept)
    stages = case.agent.run(case.task, environment, _Replayed(case.policy, kept), sample=sample)
    return Mitigated(stages, len(stages) - keep)


def last_clean(drift: FloatArray, flagged_at: int) -> int:
    """Last stage before the flag that no drift separates from stage 1; 0 if the flag is at stage 1.

    Args:
        drift: a_csct of one run, shape (S,); NaN counts as none.
        flagged_at: 1-based stage of the flag.
    """
    for stage in range(1, flagged_at):
        if drift[stage - 1] > 0:
            return stage - 1
    return flagged_at - 1


class _Widened:
    """Asks the first query together with the question."""

    def __init__(self, inner: Policy) -> None:
        self._inner = inner
        self.backbone = inner.backbone

    def act(self, kind: ActionKind, state: State) -> Action:
        action = self._inner.act(kind, state)
        if kind != "query" or state.thoughts or action.missing is not None:
            return action
        return replace(action, text=f"{action.text} {state.question}")


class _Replayed:
    """Repeats what was done at the kept stages, without acting."""

    def __init__(self, inner: Policy, kept: Sequence[Stage]) -> None:
        self._inner, self._kept = inner, kept
        self.backbone = inner.backbone

    def act(self, kind: ActionKind, state: State) -> Action:
        place = len(state.thoughts)
        if place >= len(self._kept):
            return self._inner.act(kind, state)
        stage = self._kept[place]
        if kind == "query":
            return Action("query", stage.query, missing=None if stage.query else stage.missing)
        return Action(kind, stage.text, stage.answer, stage.confidence, stage.token_logprobs, stage.missing)


class _Rolled:
    """What was found at the kept stages, then the working environment and the hint."""

    def __init__(self, inner: Environment, kept: Sequence[Stage]) -> None:
        self._inner, self._kept = inner, kept

    def search(self, query: str, k: int, stage: int) -> tuple[Hit, ...]:
        if stage <= len(self._kept):
            return self._kept[stage - 1].hits
        return self._inner.search(query, k, stage)

    def hints(self, stage: int) -> tuple[Hint, ...]:
        known = self._inner.hints(stage)
        return (*known, Hint(HINT, "", 0)) if stage == len(self._kept) + 1 else known

"""Paper 2's agent: search, read, and search again, until it answers or the hop budget is spent.

A trajectory has one ``retrieval`` stage a hop (stage h is hop h: query, documents, what was read) and ends
with one ``synthesis`` stage. The agent can start from kept hops, which is how faults are injected and how
every re-execution works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from faultline.agents.stages import finished
from faultline.errors import ConfigError, Missing
from faultline.records import Action, Environment, Hint, Policy, Stage, State, Task

ANSWER_FROM = ("union", "chain")


@dataclass(frozen=True, slots=True)
class HopLoop:
    """Implements :class:`faultline.records.Agent`.

    Attributes:
        max_hops: Searches before the answer is forced.
        top_k: Passages a search returns.
        answer_from: ``union``: before it answers, the agent reads every hop again over the union of the
            evidence, latest first (a language model sees that union anyway: use ``chain`` for it).
            ``chain``: it answers from what it read on the way.
        version: Bumped when the agent's behaviour changes.
    """

    max_hops: int = 4
    top_k: int = 5
    answer_from: str = "union"
    version: int = 1

    def __post_init__(self) -> None:
        if self.max_hops < 1 or self.top_k < 1:
            raise ConfigError(f"agent.max_hops={self.max_hops}, agent.top_k={self.top_k}: must be at least 1")
        if self.answer_from not in ANSWER_FROM:
            raise ConfigError(f"agent.answer_from={self.answer_from}: choose one of {', '.join(ANSWER_FROM)}")

    def run(
        self, task: Task, environment: Environment, policy: Policy, *, sample: int = 0
    ) -> tuple[Stage, ...]:
        """The stages of one trajectory; the last one carries the answer."""
        return self.resume(task, environment, policy, (), sample=sample)

    def resume(
        self,
        task: Task,
        environment: Environment,
        policy: Policy,
        kept: Sequence[Stage],
        hints: Sequence[Hint] = (),
        *,
        sample: int = 0,
        extra_hops: int = 0,
    ) -> tuple[Stage, ...]:
        """Go on from kept hops, which stay as they are.

        Args:
            task: The task.
            environment: What the hops after the kept ones meet.
            policy: Who acts.
            kept: Hops 1 to len(kept).
            hints: Assertions in the context of the kept hops.
            sample: Sample index.
            extra_hops: Searches beyond ``max_hops``.
        """
        stages = list(kept)
        known = tuple(hints)
        answered: Action | None = None
        while len(stages) < self.max_hops + extra_hops:
            state = _state(task, stages, known, sample)
            action = policy.act("query", state)
            if action.kind == "conclude" or action.missing is Missing.NOT_APPLICABLE:
                if stages or action.kind != "conclude":
                    answered = action if action.kind == "conclude" else None
                    break
                action = Action("query", task.question)
            stage, known = self.search(task, environment, policy, stages, known, action.text, sample=sample)
            stages.append(stage)
        if answered is not None:
            return (*stages, finished(len(stages) + 1, "synthesis", answered))
        return (*stages, self.answer(task, policy, stages, known, sample=sample))

    def search(
        self,
        task: Task,
        environment: Environment,
        policy: Policy,
        kept: Sequence[Stage],
        hints: Sequence[Hint],
        query: str,
        *,
        sample: int = 0,
    ) -> tuple[Stage, tuple[Hint, ...]]:
        """One hop after the kept ones, with a given query: the stage, and all assertions known after it."""
        hop = len(kept) + 1
        hits = environment.search(query, self.top_k, hop)
        known = (*hints, *environment.hints(hop))
        state = _state(task, kept, known, sample)
        state = replace(state, query=query, evidence=(*state.evidence, hits))
        stage = finished(hop, "retrieval", policy.act("read", state))
        return replace(stage, query=query, hits=hits), known

    def answer(
        self, task: Task, policy: Policy, hops: Sequence[Stage], hints: Sequence[Hint], *, sample: int = 0
    ) -> Stage:
        """The forced answer from these hops."""
        state = _state(task, hops, hints, sample)
        if self.answer_from == "union":
            state = replace(state, notes=self._read_again(policy, state, hops))
        return finished(len(hops) + 1, "synthesis", policy.act("conclude", state))

    def _read_again(self, policy: Policy, state: State, hops: Sequence[Stage]) -> tuple[str | None, ...]:
        notes: list[str | None] = []
        for hop in range(1, self.max_hops + 1):
            query = hops[hop - 1].query if hop <= len(hops) else ""
            action = policy.act("read", replace(state, hop=hop, notes=tuple(notes), query=query))
            if action.missing is Missing.NOT_APPLICABLE:
                break
            notes.append(action.answer)
        return tuple(notes)


def hops_of(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The hops of a trajectory, without its answer."""
    return tuple(stage for stage in stages if stage.kind == "retrieval")


def _state(task: Task, hops: Sequence[Stage], hints: Sequence[Hint], sample: int) -> State:
    return State(
        task,
        evidence=tuple(stage.hits for stage in hops),
        thoughts=tuple(stage.text for stage in hops),
        notes=tuple(stage.answer for stage in hops),
        hints=tuple(hints),
        hop=len(hops) + 1,
        sample=sample,
    )

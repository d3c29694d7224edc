"""The fixed plan of CHARM's evaluation (paper 1, III-F)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from faultline.agents.stages import finished
from faultline.errors import ConfigError
from faultline.records import Action, Environment, Policy, Stage, StageKind, State, Task

PLAN: tuple[StageKind, ...] = ("retrieval", "reasoning", "reasoning", "tool_call", "synthesis")
"""III-F and VI-B: s1 retrieval, s2 and s3 reasoning, s4 tool call (a second retrieval), s5 synthesis."""


class FiveStage:
    """Implements :class:`faultline.records.Agent` for any plan of the four stage kinds.

    A ``retrieval`` stage searches for the hop at hand and shows its top-1 passage; the ``reasoning``
    stage after it reads the hop. A ``tool_call`` searches and reads in one stage, and shows the
    finding. Any other ``reasoning`` stage plans the next search; ``synthesis`` concludes.

    Args:
        stages: The plan; it begins with a retrieval and ends with the synthesis.
        top_k: Passages a retrieval returns.
    """

    version = 1

    def __init__(self, stages: Sequence[StageKind] = PLAN, top_k: int = 5) -> None:
        self.stages = tuple(stages)
        self.top_k = top_k
        unknown = [kind for kind in self.stages if kind not in set(PLAN)]
        if unknown:
            raise ConfigError(f"agent.stages: {unknown[0]!r} is none of {', '.join(sorted(set(PLAN)))}")
        if len(self.stages) < 2 or self.stages[0] != "retrieval" or self.stages[-1] != "synthesis":
            raise ConfigError("agent.stages: must begin with retrieval and end with synthesis")
        if self.stages.count("synthesis") > 1:
            raise ConfigError("agent.stages: may hold one synthesis, the last stage")
        if top_k < 1:
            raise ConfigError(f"agent.top_k={top_k}: must be at least 1")

    def run(
        self, task: Task, environment: Environment, policy: Policy, *, sample: int = 0
    ) -> tuple[Stage, ...]:
        """The stages of one trajectory; the last one carries the answer."""
        run = _Run(State(task, sample=sample), environment, policy, self.top_k)
        for index, kind in enumerate(self.stages, start=1):
            run.step(index, kind)
        return tuple(run.stages)


@dataclass(slots=True)
class _Run:
    """One trajectory in the making."""

    state: State
    environment: Environment
    policy: Policy
    top_k: int
    stages: list[Stage] = field(default_factory=list)
    unread: bool = False

    def step(self, index: int, kind: StageKind) -> None:
        self.state = replace(self.state, hints=self.state.hints + self.environment.hints(index))
        if kind == "retrieval":
            stage = self._retrieve(index)
        elif kind == "tool_call":
            stage = self._tool_call(index)
        elif kind == "synthesis":
            stage = finished(index, kind, self.policy.act("conclude", self.state))
        elif self.unread:
            stage = finished(index, kind, self._read())
        else:
            stage = finished(index, kind, self.policy.act("reason", self.state))
        self.stages.append(stage)
        self.state = replace(self.state, thoughts=(*self.state.thoughts, stage.text))

    def _search(self, index: int) -> tuple[Action, Stage]:
        """Search for the hop at hand; an unread hop before it is given up."""
        if self.unread:
            self.state = replace(self.state, notes=(*self.state.notes, None))
        self.state = replace(self.state, hop=len(self.state.notes) + 1)
        action = self.policy.act("query", self.state)
        # A query that could not be had is no query: nothing is searched in its place.
        hits = self.environment.search(action.text, self.top_k, index) if action.missing is None else ()
        self.state = replace(self.state, query=action.text, evidence=(*self.state.evidence, hits))
        self.unread = True
        text = hits[0].passage.rendered if hits else ""
        missing = action.missing
        return action, Stage(index, "retrieval", text, query=action.text, hits=hits, missing=missing)

    def _retrieve(self, index: int) -> Stage:
        return self._search(index)[1]

    def _tool_call(self, index: int) -> Stage:
        _, found = self._search(index)
        acted = finished(index, "tool_call", self._read())
        return replace(acted, query=found.query, hits=found.hits)

    def _read(self) -> Action:
        action = self.policy.act("read", self.state)
        self.state = replace(self.state, notes=(*self.state.notes, action.answer))
        self.unread = False
        return action

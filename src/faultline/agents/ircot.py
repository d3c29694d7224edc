"""IRCoT: retrieval interleaved with a chain of thought (Trivedi et al. 2023; paper 1, VI-C item 6)."""

from __future__ import annotations

from dataclasses import replace

from faultline.errors import ConfigError
from faultline.records import (
    Action,
    ConfidenceSource,
    Environment,
    Policy,
    Stage,
    StageKind,
    State,
    Task,
)

STOP = "answer is"
"""A thought that holds it ends the chain (the authors' own rule)."""


class Ircot:
    """Implements :class:`faultline.records.Agent` for policies that reason freely.

    The question is the first query; each thought is the next one. The first search is the ``retrieval``
    stage, later ones are ``tool_call``; ``synthesis`` concludes over the union of what was found.

    Args:
        top_k: Passages a retrieval returns.
        max_searches: Searches at most.
    """

    version = 2

    def __init__(self, top_k: int = 5, max_searches: int = 4) -> None:
        if top_k < 1 or max_searches < 1:
            raise ConfigError(f"agent.top_k={top_k}, max_searches={max_searches}: must be at least 1")
        self.top_k = top_k
        self.max_searches = max_searches

    def run(
        self, task: Task, environment: Environment, policy: Policy, *, sample: int = 0
    ) -> tuple[Stage, ...]:
        """The stages of one trajectory; the last one carries the answer.

        Raises:
            ConfigError: The policy follows an annotated plan, so it has no chain of thought.
        """
        if getattr(policy, "needs_gold", False):
            raise ConfigError(f"agent=ircot: {policy.backbone} has no chain of thought; use policy=llm")
        state, stages, query = State(task, sample=sample), list[Stage](), task.question
        for number in range(self.max_searches):
            state = _hinted(state, environment, len(stages) + 1)
            hits = environment.search(query, self.top_k, len(stages) + 1)
            kind: StageKind = "tool_call" if number else "retrieval"
            top = hits[0].passage.rendered if hits else ""
            stages.append(Stage(len(stages) + 1, kind, top, query=query, hits=hits))
            state = replace(state, evidence=(*state.evidence, hits), query=query)
            state = _hinted(state, environment, len(stages) + 1)
            thought = policy.act("reason", state)
            stages.append(_acted(len(stages) + 1, "reasoning", thought))
            state = replace(state, thoughts=("", *(s.text for s in stages if s.kind == "reasoning")))
            if thought.missing is not None or STOP in thought.text.lower():
                break
            query = thought.text
        state = _hinted(state, environment, len(stages) + 1)
        stages.append(_acted(len(stages) + 1, "synthesis", policy.act("conclude", state)))
        return tuple(stages)


def _hinted(state: State, environment: Environment, index: int) -> State:
    return replace(state, hints=state.hints + environment.hints(index))


def _acted(index: int, kind: StageKind, action: Action) -> Stage:
    source: ConfidenceSource = "stated" if action.confidence is not None else "none"
    if action.confidence is not None and action.token_logprobs:
        source = "logprobs"
    return Stage(
        index,
        kind,
        action.text,
        answer=action.answer,
        confidence=action.confidence,
        confidence_source=source,
        token_logprobs=action.token_logprobs,
        missing=action.missing,
    )

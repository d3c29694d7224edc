"""Carrying out an intervention on a stored trace."""

from __future__ import annotations

import re
from dataclasses import dataclass

from faultline.agents.hop_loop import HopLoop, hops_of
from faultline.corpora.spans import normalise
from faultline.errors import ConfigError
from faultline.interventions.cost import answer_tokens, call_tokens, run_tokens
from faultline.interventions.probe import Probe, ProbeResult
from faultline.records import Environment, Hint, Policy, Stage, Task

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Scene:
    """What acting again from a trace needs.

    Attributes:
        id: Of the trace (with everything it depends on): the store's key.
        task: The task.
        stages: The trace.
        hints: Assertions in the context of its hops.
        agent: Who ran it.
        policy: Who acted, without any fault in it.
        working: What a re-execution meets.
        trusted: The clean environment.
    """

    id: str
    task: Task
    stages: tuple[Stage, ...]
    hints: tuple[Hint, ...]
    agent: HopLoop
    policy: Policy
    working: Environment
    trusted: Environment

    def source(self, probe: Probe) -> Environment:
        """The environment that a probe searches."""
        return self.working if probe.source == "working" else self.trusted

    def hints_before(self, hop: int) -> tuple[Hint, ...]:
        """Assertions of the hops before one."""
        return tuple(hint for hint in self.hints if hint.hop < hop)


def execute(scene: Scene, probe: Probe) -> ProbeResult:
    """Act again.

    Raises:
        ConfigError: The trace has no such hop.
    """
    hops = hops_of(scene.stages)
    last = len(hops) + (1 if probe.operation in ("regenerate", "continue") else 0)
    if probe.operation != "placebo" and not 1 <= probe.hop <= last:
        raise ConfigError(f"{probe.id}: trace {scene.id} has {len(hops)} hops")
    if probe.operation == "placebo":
        answer = scene.agent.answer(scene.task, scene.policy, hops, scene.hints, sample=probe.sample)
        return _result(scene, (*hops, answer), answer_tokens(scene.task.question, hops, answer), 0)
    if probe.operation == "freeze":
        return _freeze(scene, hops, probe)
    if probe.operation == "repair":
        return _repair(scene, hops, probe)
    first = len(hops) + 1 if probe.operation == "continue" else probe.hop
    extra = max(0, first - scene.agent.max_hops) if probe.operation == "continue" else 0
    made = scene.agent.resume(
        scene.task,
        scene.source(probe),
        scene.policy,
        hops[: first - 1],
        scene.hints_before(first),
        sample=probe.sample,
        extra_hops=extra,
    )
    tokens = run_tokens(scene.task.question, made, first - 1)
    return _result(scene, made, tokens, len(made) - first)


def _searched_again(scene: Scene, hops: tuple[Stage, ...], probe: Probe) -> tuple[Stage, tuple[Hint, ...]]:
    """A hop with its own query, in another environment; with all assertions known after it."""
    kept = hops[: probe.hop - 1]
    return scene.agent.search(
        scene.task,
        scene.source(probe),
        scene.policy,
        kept,
        scene.hints_before(probe.hop),
        hops[probe.hop - 1].query,
        sample=probe.sample,
    )


def _repair(scene: Scene, hops: tuple[Stage, ...], probe: Probe) -> ProbeResult:
    """The agent goes on after the repaired hop; the repair itself repeats a query and costs no call."""
    stage, known = _searched_again(scene, hops, probe)
    kept = (*hops[: probe.hop - 1], stage)
    made = scene.agent.resume(scene.task, scene.working, scene.policy, kept, known, sample=probe.sample)
    tokens = run_tokens(scene.task.question, made, len(kept))
    return _result(scene, made, tokens, len(made) - probe.hop)


def _freeze(scene: Scene, hops: tuple[Stage, ...], probe: Probe) -> ProbeResult:
    stage, known = _searched_again(scene, hops, probe)
    after = tuple(hint for hint in scene.hints if hint.hop > probe.hop)
    frozen = (*hops[: probe.hop - 1], stage, *hops[probe.hop :])
    answer = scene.agent.answer(scene.task, scene.policy, frozen, (*known, *after), sample=probe.sample)
    tokens = call_tokens(scene.task.question, frozen, ()) + answer_tokens(scene.task.question, frozen, answer)
    return _result(scene, (*frozen, answer), tokens, 1)


def _result(scene: Scene, stages: tuple[Stage, ...], tokens: int, new_hops: int) -> ProbeResult:
    hops, answer = stages[:-1], stages[-1]
    return ProbeResult(
        answer=answer.answer,
        missing=answer.missing,
        tokens=tokens,
        hops=len(hops),
        new_hops=new_hops,
        queries=tuple(stage.query for stage in hops),
        notes=tuple(stage.answer for stage in hops),
        passages=tuple(tuple(hit.passage.id for hit in stage.hits) for stage in hops),
        support=support(answer.answer, hops),
    )


def support(answer: str | None, hops: tuple[Stage, ...]) -> float:
    """Share of the answer's tokens that stand in one document of the hops (the best one); 0 without any."""
    wanted = set(_WORD.findall(normalise(answer))) if answer else set()
    texts = {hit.passage.rendered for stage in hops for hit in stage.hits}
    shares = [len(wanted & set(_WORD.findall(normalise(text)))) / len(wanted) for text in texts if wanted]
    return max(shares, default=0.0)

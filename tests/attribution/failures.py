"""Failed traces of the small synthetic world, as cases that a diagnoser sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from faultline.agents.hop_loop import hops_of
from faultline.attribution.diagnosis import Case, Diagnoser, right
from faultline.errors import Missing
from faultline.faults.hops import HopFault
from faultline.interventions.execute import execute, support
from faultline.interventions.probe import Probe, ProbeResult
from tests.agents.hop_world import world


@cache
def failures(answer_from: str, fault: HopFault, depth: int, per_kind: int = 12) -> tuple[Case, ...]:
    """All failed cases at a depth, with gold."""
    w = world(answer_from, per_kind)
    found = []
    for task in w.corpus.tasks:
        gold = w.corpus.gold[task.id]
        if len(hops_of(w.base[task.id])) < depth or not right(w.base[task.id][-1].answer, gold):
            continue
        made = w.inject(task, depth, fault)
        if isinstance(made, Missing) or right(made[1][-1].answer, gold):
            continue
        hops, answer = hops_of(made[1]), made[1][-1].answer
        scene = w.scene(task, *made, name=task.id)
        found.append(
            Case(
                task.id, task.question, hops, answer, support(answer, hops), gold, cached(scene_probe(scene))
            )
        )
    return tuple(found)


def scene_probe(scene: object) -> Callable[[Probe], ProbeResult]:
    return lambda probe: execute(scene, probe)  # type: ignore[arg-type]


def cached(act: Callable[[Probe], ProbeResult]) -> Callable[[Probe], ProbeResult]:
    return cache(act)


def exact(diagnoser: Diagnoser, cases: tuple[Case, ...], depth: int) -> float:
    assert cases
    shown = cases if diagnoser.needs_gold else tuple(replace(case, gold=None) for case in cases)
    return sum(diagnoser.diagnose(case).hop == depth for case in shown) / len(cases)

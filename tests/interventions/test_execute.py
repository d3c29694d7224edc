from __future__ import annotations

import pytest

from faultline.agents.hop_loop import hops_of
from faultline.errors import ConfigError, Missing
from faultline.faults.hops import HopFault
from faultline.interventions.execute import Scene, execute, support
from faultline.interventions.probe import Probe
from tests.agents.hop_world import World, world


def failed(w: World, hops: int, depth: int, fault: HopFault) -> list[tuple[Scene, str]]:
    found = []
    for task in w.tasks(hops):
        made = w.inject(task, depth, fault)
        if not isinstance(made, Missing) and made[1][-1].answer != w.answer(task):
            found.append((w.scene(task, *made), w.answer(task)))
    assert found
    return found


@pytest.mark.parametrize("answer_from", ["chain", "union"])
def test_regenerating_heals_a_call_fault_exactly_up_to_its_hop(answer_from: str) -> None:
    w = world(answer_from)
    for depth in (1, 2, 3, 4):
        for scene, answer in failed(w, 4, depth, HopFault("content", span="hop_fact")):
            for k in range(1, 6):
                flipped = execute(scene, Probe("regenerate", k)).answer == answer
                assert flipped == (k <= depth)


@pytest.mark.parametrize("answer_from", ["chain", "union"])
def test_a_corpus_fault_heals_only_from_a_trusted_source(answer_from: str) -> None:
    w = world(answer_from)
    healed = 0
    cases = failed(w, 4, 2, HopFault("content", "corpus", "hop_fact"))
    for scene, answer in cases:
        assert all(execute(scene, Probe("regenerate", k)).answer != answer for k in range(1, 6))
        assert execute(scene, Probe("repair", 1, "trusted")).answer != answer
        healed += execute(scene, Probe("repair", 2, "trusted")).answer == answer
    # answering from the union, a later search that brings the changed passage again undoes the repair
    assert healed == len(cases) if answer_from == "chain" else 0 < healed < len(cases)


def test_the_placebo_of_a_reader_without_noise_changes_nothing() -> None:
    for answer_from in ("chain", "union"):
        w = world(answer_from)
        for scene, _ in failed(w, 3, 1, HopFault("stale")):
            again = execute(scene, Probe("placebo", 0))
            assert again.answer == scene.stages[-1].answer and again.new_hops == 0


def test_going_on_finishes_a_run_that_was_stopped_early() -> None:
    w = world()
    for scene, answer in failed(w, 4, 3, HopFault("early_termination")):
        assert len(hops_of(scene.stages)) == 2
        more = execute(scene, Probe("continue", 3))
        assert more.answer == answer and more.hops == 4 and more.new_hops == 2


def test_a_frozen_hop_helps_only_where_nothing_depends_on_it() -> None:
    w = world()
    for depth in (1, 2, 3):
        for scene, answer in failed(w, 3, depth, HopFault("content", span="hop_fact")):
            flipped = execute(scene, Probe("freeze", depth, "trusted")).answer == answer
            assert flipped == (depth == 3)


def test_earlier_regeneration_costs_more_tokens() -> None:
    w = world()
    (scene, _), *_ = failed(w, 5, 2, HopFault("empty"))
    costs = [execute(scene, Probe("regenerate", k)).tokens for k in range(1, 6)]
    assert costs == sorted(costs, reverse=True) and costs[0] > costs[-1] > 0


def test_a_hop_that_is_not_there_is_an_error() -> None:
    w = world()
    (scene, _), *_ = failed(w, 3, 1, HopFault("empty"))
    with pytest.raises(ConfigError, match="has 3 hops"):
        execute(scene, Probe("repair", 4))


def test_support_is_the_best_documents_share() -> None:
    w = world()
    hops = hops_of(w.base[w.tasks(3)[0].id])
    word = hops[0].hits[0].passage.title
    assert support(word, hops) == 1.0 and support(None, hops) == 0.0 and support("qqqq", hops) == 0.0

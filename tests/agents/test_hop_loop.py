from __future__ import annotations

import pytest

from faultline.agents.hop_loop import HopLoop, hops_of
from faultline.errors import ConfigError, Missing
from faultline.records import Action, ActionKind, State
from tests.agents.hop_world import world


@pytest.mark.parametrize("answer_from", ["chain", "union"])
@pytest.mark.parametrize("hops", [2, 4, 6])
def test_a_clean_run_reads_the_plan_hop_by_hop(answer_from: str, hops: int) -> None:
    w = world(answer_from)
    right = 0
    for task in w.tasks(hops):
        stages = w.base[task.id]
        assert [s.index for s in stages] == list(range(1, hops + 2))
        assert [s.answer for s in stages[:-1]] == [h.answer for h in w.corpus.gold[task.id].hops]
        right += stages[-1].answer == w.answer(task)
    # reading again over the union may meet a near-copy (a namesake) that a later search brought
    assert right == 12 if answer_from == "chain" else right >= 11


@pytest.mark.parametrize("answer_from", ["chain", "union"])
def test_going_on_from_any_kept_prefix_gives_the_same_trace(answer_from: str) -> None:
    w = world(answer_from)
    task = w.tasks(5)[0]
    whole = w.base[task.id]
    for kept in range(6):
        assert w.agent.resume(task, w.environments.clean(task), w.policy, whole[:kept]) == whole


def test_a_spent_budget_forces_an_answer() -> None:
    w = world()
    task = w.tasks(4)[0]
    stages = HopLoop(2, 5, "chain").run(task, w.environments.clean(task), w.policy)
    assert len(hops_of(stages)) == 2
    assert stages[-1].answer is None and stages[-1].missing is Missing.PLAN_TOO_LONG


class Hasty:
    """Answers at once, then after one search."""

    backbone = "hasty"

    def act(self, kind: ActionKind, state: State) -> Action:
        return Action("conclude" if kind == "query" else kind, "A.", "A")


def test_an_answer_without_evidence_becomes_a_search_with_the_question() -> None:
    w = world()
    task = w.tasks(2)[0]
    stages = w.agent.run(task, w.environments.clean(task), Hasty())
    assert [s.kind for s in stages] == ["retrieval", "synthesis"]
    assert stages[0].query == task.question and stages[-1].answer == "A"


@pytest.mark.parametrize("wrong", [{"max_hops": 0}, {"top_k": 0}, {"answer_from": "x"}])
def test_wrong_settings_are_refused(wrong: dict[str, int | str]) -> None:
    with pytest.raises(ConfigError, match="agent"):
        HopLoop(**wrong)  # type: ignore[arg-type]

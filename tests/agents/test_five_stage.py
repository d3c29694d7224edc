"""The five-stage agent: what each stage does, and how notes, thoughts and hints flow."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultline.agents.five_stage import PLAN, FiveStage
from faultline.errors import ConfigError, Missing
from faultline.policies.reader import ReaderSettings
from faultline.records import Action, Hint, Hit
from faultline.retrieval.bm25 import Bm25
from faultline.retrieval.environment import Environments
from tests.small_corpus import PASSAGES


class Recorded:
    """A policy that answers by rote and keeps what it was shown."""

    backbone = "rote"

    def __init__(self, readings=("v1", "v2", "v3", "v4"), **extra):
        self.seen = []
        self._readings, self._extra = readings, extra

    def act(self, kind, state):
        self.seen.append((kind, state))
        if kind == "read":
            value = self._readings[state.hop - 1]
            return Action(
                kind, f"read {value}", value, missing=None if value else Missing.NO_SPAN, **self._extra
            )
        return Action(kind, f"{kind} {state.hop}", "end" if kind == "conclude" else None)


class Listed:
    """An environment that returns what it is told, and keeps what it was asked."""

    def __init__(self, by_stage, hints=()):
        self.asked = []
        self._by_stage, self._hints = by_stage, dict(hints)

    def search(self, query, k, stage):
        self.asked.append((query, k, stage))
        return self._by_stage.get(stage, ())[:k]

    def hints(self, stage):
        return self._hints.get(stage, ())


def hit(name, rank=1):
    return Hit(PASSAGES[name], 1.0 / rank, rank)


@pytest.fixture
def task(small):
    return small.tasks[0]


def test_the_plan_of_the_paper_stage_by_stage(task):
    environment = Listed({1: (hit("harbour"), hit("lantern", 2)), 4: (hit("quill"),)})
    policy = Recorded()
    stages = FiveStage().run(task, environment, policy)
    assert [s.kind for s in stages] == list(PLAN) and [s.index for s in stages] == [1, 2, 3, 4, 5]
    assert [s.text for s in stages] == [
        PASSAGES["harbour"].rendered,
        "read v1",
        "reason 1",
        "read v2",
        "conclude 2",
    ]
    assert [s.answer for s in stages] == [None, "v1", None, "v2", "end"]
    assert [s.query for s in stages] == ["query 1", "", "", "query 2", ""]
    assert stages[0].hits == (hit("harbour"), hit("lantern", 2)) and stages[3].hits == (hit("quill"),)
    assert environment.asked == [("query 1", 5, 1), ("query 2", 5, 4)]
    assert [kind for kind, _ in policy.seen] == ["query", "read", "reason", "query", "read", "conclude"]


def test_what_the_policy_sees_grows_with_the_stages(task):
    environment = Listed({1: (hit("harbour"),), 4: (hit("quill"),)})
    policy = Recorded()
    FiveStage().run(task, environment, policy, sample=3)
    query1, read1, reason, query2, read2, conclude = (state for _, state in policy.seen)
    assert query1.evidence == () and query1.notes == () and query1.thoughts == ()
    assert read1.evidence == ((hit("harbour"),),) and read1.query == "query 1" and read1.hop == 1
    assert reason.notes == ("v1",) and reason.thoughts == (PASSAGES["harbour"].rendered, "read v1")
    assert query2.hop == 2 and query2.notes == ("v1",)
    assert read2.evidence == ((hit("harbour"),), (hit("quill"),)) and read2.query == "query 2"
    assert conclude.notes == ("v1", "v2") and len(conclude.thoughts) == 4 and conclude.hints == ()
    assert {state.sample for _, state in policy.seen} == {3}
    assert {state.task for _, state in policy.seen} == {task}


def test_top_k_limits_what_comes_back(task):
    environment = Listed({1: tuple(hit("harbour", r) for r in range(1, 9))})
    stages = FiveStage(top_k=3).run(task, environment, Recorded())
    assert environment.asked[0][1] == 3 and len(stages[0].hits) == 3


def test_an_empty_retrieval_has_no_words_and_goes_on(task):
    stages = FiveStage().run(task, Listed({}), Recorded())
    assert stages[0].text == "" and stages[0].hits == () and stages[4].answer == "end"


def test_a_reading_that_fails_leaves_a_gap_not_a_shift(task):
    policy = Recorded(readings=(None, "v2"))
    stages = FiveStage().run(task, Listed({}), policy)
    assert stages[1].missing is Missing.NO_SPAN and stages[1].answer is None
    assert policy.seen[-1][1].notes == (None, "v2")


def test_a_hop_that_no_stage_read_is_given_up(task):
    policy = Recorded()
    stages = FiveStage(["retrieval", "retrieval", "reasoning", "synthesis"]).run(task, Listed({}), policy)
    assert [s.text for s in stages[1:]] == ["", "read v2", "conclude 2"]
    assert policy.seen[-1][1].notes == (None, "v2")


def test_a_plan_of_three_hops(task):
    plan = ["retrieval", "reasoning", "tool_call", "reasoning", "tool_call", "synthesis"]
    policy = Recorded()
    stages = FiveStage(plan).run(task, Listed({}), policy)
    assert [s.text for s in stages] == ["", "read v1", "read v2", "reason 2", "read v3", "conclude 3"]
    assert policy.seen[-1][1].notes == ("v1", "v2", "v3")


def test_hints_enter_at_their_stage_and_stay(task):
    early, late = Hint("a", "x", 1), Hint("b", "y", 2)
    environment = Listed({}, {2: (early,), 4: (late,)})
    policy = Recorded()
    FiveStage().run(task, environment, policy)
    shown = [(kind, state.hints) for kind, state in policy.seen]
    assert shown == [
        ("query", ()),
        ("read", (early,)),
        ("reason", (early,)),
        ("query", (early, late)),
        ("read", (early, late)),
        ("conclude", (early, late)),
    ]


@pytest.mark.parametrize(
    ("extra", "source"),
    [
        ({}, "none"),
        ({"confidence": 0.7}, "stated"),
        ({"confidence": 0.7, "token_logprobs": (-0.1, -0.2)}, "logprobs"),
    ],
)
def test_where_a_confidence_comes_from(task, extra, source):
    stage = FiveStage().run(task, Listed({}), Recorded(**extra))[1]
    assert stage.confidence_source == source
    assert (stage.confidence, stage.token_logprobs) == (
        extra.get("confidence"),
        extra.get("token_logprobs", ()),
    )


def expected_kinds(plan):
    """What the policy is asked for, by a literal reading of the agent's docstring."""
    unread, asked = False, []
    for kind in plan:
        if kind == "retrieval":
            asked, unread = [*asked, "query"], True
        elif kind == "tool_call":
            asked, unread = [*asked, "query", "read"], False
        elif kind == "synthesis":
            asked.append("conclude")
        else:
            asked, unread = [*asked, "read" if unread else "reason"], False
    return asked


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["retrieval", "reasoning", "tool_call"]), max_size=6))
def test_any_plan_asks_for_what_its_kinds_say(middle):
    from tests.small_corpus import build

    plan = ["retrieval", *middle, "synthesis"]
    policy = Recorded(readings=[f"v{n}" for n in range(9)])
    stages = FiveStage(plan).run(build().tasks[0], Listed({}), policy)
    assert [kind for kind, _ in policy.seen] == expected_kinds(plan)
    assert [s.kind for s in stages] == plan
    assert policy.seen[-1][1].hop <= plan.count("retrieval") + plan.count("tool_call")


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        (["retrieval", "thinking", "synthesis"], "agent.stages: 'thinking' is none of reasoning, retrieval"),
        ([], "must begin with retrieval and end with synthesis"),
        (["retrieval"], "must begin with retrieval and end with synthesis"),
        (["synthesis"], "must begin with retrieval and end with synthesis"),
        (["reasoning", "synthesis"], "must begin with retrieval and end with synthesis"),
        (["retrieval", "reasoning"], "must begin with retrieval and end with synthesis"),
        (["retrieval", "synthesis", "synthesis"], "synthesis"),
    ],
)
def test_a_plan_that_cannot_run_is_refused(stages, words):
    with pytest.raises(ConfigError, match=words):
        FiveStage(stages)


def test_top_k_below_one_is_refused():
    with pytest.raises(ConfigError, match=r"agent\.top_k=0: must be at least 1"):
        FiveStage(top_k=0)


def test_a_hand_checked_run_with_the_reader(small):
    task = small.tasks[0]
    stages = FiveStage().run(task, Environments(small, Bm25()).clean(task), ReaderSettings().build(small))
    assert stages[0].query == "Who wrote the novel The Glass Harbour?"
    assert stages[0].hits[0].passage.id == "harbour"
    assert stages[1].answer == "Ada Quill"
    assert stages[2].text == (
        "The first passage leads to Ada Quill. What the passage on Ada Quill says will answer: "
        "Where was the author of the novel The Glass Harbour born?"
    )
    assert stages[3].query == "Where was Ada Quill born?" and stages[3].hits[0].passage.id == "quill"
    assert stages[3].answer == stages[4].answer == "Tarnwick"
    assert stages[4].text == (
        'The first passage leads to Ada Quill. According to "Ada Quill", She was born in Tarnwick, in the '
        "north. Therefore, the answer is Tarnwick."
    )

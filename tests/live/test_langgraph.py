"""A wrapped node of a plain graph: judged, run again, held for a person."""

import asyncio
import operator
from typing import Annotated, TypedDict

import orjson
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from faultline.live.audit import AuditLog
from faultline.live.human import Checkpoint, remember
from faultline.live.langgraph import Reading, guarded, rollback_config
from faultline.live.watch import Watch
from tests.live.agents import words
from tests.live.test_langchain import BAD, GOOD, options


class State(TypedDict, total=False):
    query: str
    found: list
    answer: str
    verdict: dict
    ran: Annotated[int, operator.add]


def graph(watch, answers, *, saver=None, **kwargs):
    ran = []

    def search(state):
        return {"found": [GOOD, "It lies on a river."]}

    def answer(state):
        ran.append(state.get("query"))
        return {"answer": answers[min(len(ran), len(answers)) - 1], "ran": 1}

    builder = StateGraph(State)
    builder.add_node("search", guarded(search, watch, Reading("retrieval", passages="found", query="query")))
    builder.add_node(
        "answer", guarded(answer, watch, Reading("synthesis", "answer"), verdict_key="verdict", **kwargs)
    )
    builder.add_edge(START, "search")
    builder.add_edge("search", "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver), ran


def test_a_flag_leaves_a_verdict():
    compiled, _ran = graph(Watch("fail_open", words(), options()), [BAD])
    out = compiled.invoke({"query": "founder?"})
    assert out["answer"] == BAD
    assert out["verdict"]["flagged"]
    assert out["verdict"]["evidence"]["passage"]


def test_a_flagged_node_runs_again_on_a_changed_state():
    again = lambda state, verdict: {**state, "query": "changed"}  # noqa: E731
    compiled, ran = graph(Watch("fail_open", words(), options()), [BAD, GOOD], again=again)
    out = compiled.invoke({"query": "founder?"})
    assert ran == ["founder?", "changed"]
    assert out["answer"] == GOOD
    assert not out["verdict"]["flagged"]


@pytest.mark.parametrize(
    ("answer", "text"),
    [("approve", BAD), ({"decision": "edit", "text": "x"}, "x"), ("reject", Checkpoint().safe_answer)],
)
def test_a_person_decides_and_the_node_ran_once(answer, text):
    watch = Watch("fail_open", words(), options(gate="score", value=0.6))
    compiled, ran = graph(watch, [BAD], saver=InMemorySaver(), checkpoint=Checkpoint())
    config = {"configurable": {"thread_id": "t"}}
    out = compiled.invoke({"query": "q"}, config)
    assert out["__interrupt__"][0].value["trajectory"] == "t"
    out = compiled.invoke(Command(resume=answer), config)
    assert out["answer"] == text
    assert len(ran) == 1


def test_without_a_checkpointer_the_default_counts():
    watch = Watch("fail_open", words(), options(gate="score", value=0.6))
    compiled, _ = graph(watch, [BAD], checkpoint=Checkpoint(default="approve"))
    assert compiled.invoke({"query": "q"})["answer"] == BAD


def kinds(watch, thread="agent"):
    return [s.kind for s in watch.guard(thread).stages]


def test_a_graph_that_is_run_again_begins_again():
    watch = Watch("fail_open", words(), options())
    compiled, _ = graph(watch, [BAD])
    for _ in range(3):
        out = compiled.invoke({"query": "founder?"})
        assert kinds(watch) == ["retrieval", "synthesis"]
        assert out["verdict"]["stage"] == 2


def test_the_questions_of_a_thread_are_kept_apart_where_one_begins():
    for begins, expected in ((True, 1), (False, 3)):
        watch = Watch("fail_open", words(), options())
        builder = StateGraph(State)
        node = guarded(lambda state: {"answer": GOOD}, watch, Reading("synthesis", "answer"), begins=begins)
        builder.add_node("answer", node)
        builder.add_edge(START, "answer")
        builder.add_edge("answer", END)
        compiled = builder.compile(checkpointer=InMemorySaver())
        for _ in range(3):
            compiled.invoke({"query": "q"}, {"configurable": {"thread_id": "t"}})
        assert len(watch.guard("t").stages) == expected


def test_a_graph_that_is_sent_back_forgets_what_runs_again():
    watch = Watch("fail_open", words(), options())
    compiled, ran = graph(watch, [BAD, GOOD], saver=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    assert compiled.invoke({"query": "founder?"}, config)["verdict"]["flagged"]
    out = compiled.invoke(None, rollback_config(compiled, config, 1, watch))
    assert len(ran) == 2
    assert out["answer"] == GOOD
    assert not out["verdict"]["flagged"]
    assert [s.text for s in watch.guard("t").stages] == [GOOD, GOOD]


def test_parallel_nodes_are_both_judged():
    watch = Watch("fail_open", words(), options())
    builder = StateGraph(State)
    for name, key in (("a", "answer"), ("b", "query")):
        node = guarded(lambda state, key=key: {key: GOOD}, watch, Reading("reasoning", key))
        builder.add_node(name, node)
        builder.add_edge(START, name)
        builder.add_edge(name, END)
    for _ in range(20):
        builder.compile().invoke({"query": ""})
        assert kinds(watch) == ["reasoning", "reasoning"]
    assert watch.failures == 0


def test_an_asynchronous_node():
    watch = Watch("fail_open", words(), options(gate="score", value=0.6))
    ran = []

    async def answer(state):
        ran.append(1)
        return {"answer": BAD}

    builder = StateGraph(State)
    builder.add_node(
        "search", guarded(lambda state: {"found": [GOOD]}, watch, Reading("retrieval", passages="found"))
    )
    builder.add_node(
        "answer", guarded(answer, watch, Reading("synthesis", "answer"), checkpoint=Checkpoint())
    )
    builder.add_edge(START, "search")
    builder.add_edge("search", "answer")
    builder.add_edge("answer", END)
    compiled = builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}

    async def both():
        asked = await compiled.ainvoke({"query": "q"}, config)
        return asked["__interrupt__"][0].value, await compiled.ainvoke(Command(resume="reject"), config)

    asked, out = asyncio.run(both())
    assert asked["verdict"]["evidence"]["claim"] == BAD
    assert out["answer"] == Checkpoint().safe_answer
    assert len(ran) == 1


class Unprintable:
    def __str__(self):
        raise RuntimeError("sk-secret")


@pytest.mark.parametrize(("policy", "kept"), [("fail_open", True), ("fail_closed", False)])
def test_what_cannot_be_read_does_not_break_the_graph(policy, kept, tmp_path):
    log = AuditLog(tmp_path / "a.jsonl")
    watch = Watch(policy, words(), options(), audit=log)
    odd = Unprintable()
    run = guarded(lambda state: {"answer": odd}, watch, Reading("synthesis", "answer"))
    builder = StateGraph(State)
    builder.add_node("answer", run)
    builder.add_edge(START, "answer")
    out = builder.compile().invoke({"query": "q"})
    assert (out["answer"] is odd) == kept
    assert watch.failures == 1
    record = orjson.loads(log.path.read_bytes())
    assert (record["reason"], record["held"]) == ("RuntimeError", not kept)
    assert b"sk-secret" not in log.path.read_bytes()


def test_a_second_run_that_fails_leaves_the_first(tmp_path):
    def again(state, verdict):
        return {**state, "query": "broken"}

    watch = Watch("fail_open", words(), options())

    def answer(state):
        if state["query"] == "broken":
            raise ValueError("the user's own")
        return {"answer": BAD}

    builder = StateGraph(State)
    builder.add_node(
        "search", guarded(lambda state: {"found": [GOOD]}, watch, Reading("retrieval", passages="found"))
    )
    builder.add_node("answer", guarded(answer, watch, Reading("synthesis", "answer"), again=again))
    builder.add_edge(START, "search")
    builder.add_edge("search", "answer")
    assert builder.compile().invoke({"query": "q"})["answer"] == BAD
    assert watch.failures == 1
    with pytest.raises(ValueError, match="own"):
        builder.compile().invoke({"query": "broken"})


def test_questions_that_nobody_answers_do_not_pile_up():
    waiting = {}
    for i in range(5):
        remember(waiting, i, str(i), limit=3)
    remember(waiting, 3, "again", limit=3)
    assert waiting == {2: "2", 3: "again", 4: "4"}

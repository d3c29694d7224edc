"""A wrapped node of a plain graph: judged, run again, held for a person."""

import operator
from typing import Annotated, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from faultline.live.human import Checkpoint
from faultline.live.langgraph import Reading, guarded
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

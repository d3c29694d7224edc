"""The middleware in a real agent graph: notes, re-retrieves, gates, verifies, rolls back, asks a person."""

import asyncio
import time

import orjson
import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from faultline.charm.decide import CharmSettings
from faultline.charm.guard import GuardOptions
from faultline.charm.guard_models import Models
from faultline.charm.routing import RoutingSettings
from faultline.charm.sfv import SfvSettings
from faultline.charm.trigger import TriggerSettings
from faultline.errors import ConfigError
from faultline.live.audit import AuditLog, verify
from faultline.live.human import Checkpoint
from faultline.live.langchain import GATED, CharmMiddleware
from faultline.live.langgraph import expire, rollback_config
from faultline.live.watch import Watch
from tests.charm.test_guard import Words
from tests.live.agents import Extract, search_tool, words

GOOD = "Arvenholm was founded by Mira Tolk in 1900."
BAD = "zebra quartz violin mango"
ASK = {"messages": [{"role": "user", "content": "Who founded Arvenholm?"}]}


def options(gate="off", early=2, late=4, value=0.0):
    """SFV alone at .6: a text that shares few words with its evidence is flagged."""
    return GuardOptions(
        CharmSettings(
            sfv=SfvSettings("both", "deficit"),
            trigger=TriggerSettings(theta=0.6, components=("sfv",), renormalise=True),
            routing=RoutingSettings(early_stage=early, late_stage=late, gate_on=gate, gate=value),
        )
    )


def records(log):
    return [orjson.loads(line) for line in log.path.read_bytes().splitlines()]


def agent(tmp_path, settings, model=None, answers=lambda q: GOOD, saver=None, **kwargs):
    log = AuditLog(tmp_path / "audit.jsonl", durable=False)
    watch = Watch("fail_open", words(), settings, audit=log)
    tool, asked = search_tool(answers)
    graph = create_agent(
        model or Extract(), [tool], middleware=[CharmMiddleware(watch, **kwargs)], checkpointer=saver
    )
    return graph, log, watch, asked


def test_a_supported_answer_passes_untouched(tmp_path):
    graph, log, watch, asked = agent(tmp_path, options())
    out = graph.invoke(ASK)
    assert out["messages"][-1].text == GOOD
    assert asked == ["founder"]
    assert [r["event"] for r in records(log)] == ["verdict", "verdict"]
    assert [r["kind"] for r in records(log)] == ["retrieval", "synthesis"]
    assert watch.open_trajectories == 0
    assert verify(log.path) == (2, [])


def test_an_unsupported_step_is_retrieved_again(tmp_path):
    model = Extract(says=[BAD])
    graph, log, _watch, asked = agent(tmp_path, options(early=9), model)
    out = graph.invoke(ASK)
    assert asked == ["founder", "Who founded Arvenholm? founder"]
    assert out["messages"][-1].text == GOOD
    assert [m.type for m in out["messages"]] == ["human", "ai", "tool", "ai"]
    assert [r["event"] for r in records(log)] == ["verdict", "verdict", "mitigation", "verdict", "verdict"]


def test_retries_are_bounded(tmp_path):
    model = Extract(says=[BAD] * 9)
    graph, log, _watch, asked = agent(tmp_path, options(early=9), model, retries=2)
    out = graph.invoke(ASK)
    assert len(asked) == 3
    assert out["messages"][-1].text == BAD
    assert out["messages"][-1].additional_kwargs["charm"]["action"] == "CRR"
    assert [r["mitigation"] for r in records(log) if r["event"] == "mitigation"] == [
        "retry",
        "retry",
        "exhausted",
    ]


def test_a_rollback_drops_the_step_and_tells_the_model(tmp_path):
    model = Extract(says=[BAD])
    graph, _log, _watch, asked = agent(tmp_path, options(early=0, late=1), model, saver=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    out = graph.invoke(ASK, config)
    assert [m.type for m in out["messages"]] == ["human", "ai", "tool", "human", "ai"]
    assert "A monitor stopped the last step" in out["messages"][3].text
    assert BAD not in out["messages"][3].text
    assert out["messages"][-1].text == GOOD
    assert asked == ["founder"]
    # The flagged state can still be read from the checkpointer, and run again from there.
    states = [[m.text for m in s.values.get("messages", [])] for s in graph.get_state_history(config)]
    at = next(i for i, texts in enumerate(states) if BAD in texts)
    assert graph.get_state(rollback_config(graph, config, at)).values["messages"][-1].text == BAD


def test_the_gate_marks_the_text(tmp_path):
    graph, _log, *_ = agent(tmp_path, options(early=0, late=99), Extract(says=[BAD]))
    out = graph.invoke(ASK)
    assert out["messages"][-1].text == f"{BAD}\n{GATED}"


@pytest.mark.parametrize(
    ("supported", "text"), [(0.9, BAD), (0.1, f"{BAD}\n{GATED}"), (None, f"{BAD}\n{GATED}")]
)
def test_an_independent_verifier_sees_question_and_claim_only(tmp_path, supported, text):
    asked = []

    def independent(question, claim):
        asked.append((question, claim))
        return supported

    settings = options(early=0, late=99)
    settings = GuardOptions(
        CharmSettings(
            sfv=settings.settings.sfv,
            trigger=TriggerSettings(theta=0.6, components=("sfv", "csct"), renormalise=True),
            routing=RoutingSettings(early_stage=0, late_stage=99, sfv=0.5, csct=0.5, gate_on="off"),
        )
    )
    graph, _log, *_ = agent(tmp_path, settings, Extract(says=[BAD]), independent=independent)
    out = graph.invoke(ASK)
    assert asked == [("Who founded Arvenholm?", BAD)]
    assert out["messages"][-1].text == text


def test_noting_changes_no_text(tmp_path):
    graph, _log, _watch, asked = agent(tmp_path, options(early=9), Extract(says=[BAD]), policy="note")
    out = graph.invoke(ASK)
    assert out["messages"][-1].text == BAD
    assert out["messages"][-1].additional_kwargs["charm"]["reasons"]
    assert asked == ["founder"]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"decision": "approve"}, BAD),
        ({"decision": "edit", "text": "Nobody knows."}, "Nobody knows."),
        ({"decision": "reject"}, Checkpoint().safe_answer),
        ("reject", Checkpoint().safe_answer),
        ({"decision": "edit"}, Checkpoint().safe_answer),
        ({"decision": "launch"}, Checkpoint().safe_answer),
        (7, Checkpoint().safe_answer),
    ],
)
def test_a_confident_cascade_waits_for_a_person(tmp_path, answer, text):
    model = Extract(says=[BAD], sure=0.97)
    settings = options(gate="confidence", value=0.8)
    graph, log, _watch, asked = agent(tmp_path, settings, model, saver=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    out = graph.invoke(ASK, config)
    (held,) = out["__interrupt__"]
    orjson.dumps(held.value)
    assert held.value["verdict"]["evidence"]["claim"] == BAD
    assert held.value["verdict"]["evidence"]["passage"] == GOOD
    assert [s["kind"] for s in held.value["stages"]] == ["retrieval", "synthesis"]
    out = graph.invoke(Command(resume=answer), config)
    assert out["messages"][-1].text == text
    assert asked == ["founder"]
    events = [r["event"] for r in records(log)]
    assert events == ["verdict", "verdict", "human_asked", "human"]
    assert verify(log.path)[1] == []


def test_a_late_answer_is_the_safe_default(tmp_path):
    model = Extract(says=[BAD], sure=0.97)
    settings, saver = options(gate="confidence", value=0.8), InMemorySaver()
    graph, log, *_ = agent(tmp_path, settings, model, saver=saver, checkpoint=Checkpoint(limit_s=0.05))
    config = {"configurable": {"thread_id": "t"}}
    graph.invoke(ASK, config)
    time.sleep(0.1)
    out = graph.invoke(Command(resume={"decision": "approve"}), config)
    assert out["messages"][-1].text == Checkpoint().safe_answer
    assert records(log)[-1]["reason"] == "late"


def test_an_expired_checkpoint_is_resumed_with_the_default(tmp_path):
    model = Extract(says=[BAD], sure=0.97)
    settings = options(gate="confidence", value=0.8)
    graph, _log, *_ = agent(tmp_path, settings, model, saver=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    graph.invoke(ASK, config)
    assert not expire(graph, config, time.time())
    assert expire(graph, config, time.time() + 3601)
    assert graph.get_state(config).values["messages"][-1].text == Checkpoint().safe_answer
    assert not expire(graph, config, time.time() + 3601)


def test_another_process_resumes(tmp_path):
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "t"}}
    settings = options(gate="confidence", value=0.8)
    first, *_ = agent(tmp_path, settings, Extract(says=[BAD], sure=0.97), saver=saver)
    first.invoke(ASK, config)
    second, *_ = agent(tmp_path, settings, Extract(), saver=saver)
    out = second.invoke(Command(resume="approve"), config)
    assert out["messages"][-1].text == BAD


def test_without_a_checkpointer_the_default_counts(tmp_path):
    model = Extract(says=[BAD], sure=0.97)
    graph, log, *_ = agent(tmp_path, options(gate="confidence", value=0.8), model)
    out = graph.invoke(ASK)
    assert out["messages"][-1].text == Checkpoint().safe_answer
    assert records(log)[-1]["reason"] == "no_checkpointer"


def test_log_probabilities_reach_the_monitor(tmp_path):
    graph, log, *_ = agent(tmp_path, options(gate="confidence", value=0.99), Extract(sure=0.9))
    graph.invoke(ASK)
    # sigmoid(logit(.9) / 1.4)
    assert records(log)[-1]["confidence"] == pytest.approx(1 / (1 + (1 / 9) ** (1 / 1.4)))


def test_the_next_question_is_another_trajectory(tmp_path):
    graph, log, *_ = agent(tmp_path, options(), saver=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    graph.invoke(ASK, config)
    graph.invoke(ASK, config)
    assert len({r["trajectory"] for r in records(log)}) == 2


class Broken(Words):
    def verify(self, pairs):
        raise RuntimeError("sk-secret-key in the message")


class Hung(Words):
    def verify(self, pairs):
        time.sleep(5)
        return super().verify(pairs)


@pytest.mark.parametrize(("model", "why"), [(Broken, "RuntimeError"), (Hung, "timeout")])
@pytest.mark.parametrize(("policy", "text"), [("fail_open", GOOD), ("fail_closed", Checkpoint().safe_answer)])
def test_a_broken_monitor_never_breaks_the_pipeline(tmp_path, model, why, policy, text):
    log = AuditLog(tmp_path / "audit.jsonl", durable=False)
    watch = Watch(policy, Models(model(), Words()), options(), audit=log, timeout_s=0.2)
    tool, _ = search_tool(lambda q: GOOD)
    graph = create_agent(Extract(), [tool], middleware=[CharmMiddleware(watch)])
    assert graph.invoke(ASK)["messages"][-1].text == text
    failures = [r for r in records(log) if r["event"] == "failure"]
    assert failures[0]["reason"] == why
    assert failures[0]["policy"] == policy
    assert b"sk-secret" not in log.path.read_bytes()


def test_asynchronous_agents(tmp_path):
    graph, _log, _watch, asked = agent(tmp_path, options(early=9), Extract(says=[BAD]))
    out = asyncio.run(graph.ainvoke(ASK))
    assert out["messages"][-1].text == GOOD
    assert len(asked) == 2


def test_braces_and_paths_in_a_document_are_only_text(tmp_path):
    evil = "{0.__class__} %s ${PATH} ../../etc/passwd {{7*7}} __import__('os').system('x')"
    graph, _log, *_ = agent(tmp_path, options(), answers=lambda q: evil)
    assert graph.invoke(ASK)["messages"][-1].text == evil


@pytest.mark.parametrize("policy", [{"XXX": "note"}, {"CRR": "explode"}, "everything"])
def test_unknown_policies_are_refused(tmp_path, policy):
    with pytest.raises(ConfigError):
        agent(tmp_path, options(), policy=policy)

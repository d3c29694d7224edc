"""Faults under agents that search as they like: met where the agent looks first, else skipped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.charm_population import Cell, Study, run_study
from experiments.composition import compose
from faultline.corpora.synthetic import Synthetic
from faultline.errors import Missing
from faultline.records import Trajectory
from faultline.reporting.console import Terminal
from faultline.reporting.run_context import RunContext
from tests.chat.wire import Answer, completion, serving

CORPUS = Synthetic().load()
BY_QUESTION = {task.question: task for task in CORPUS.tasks}
CLEAN, FAULTY = Cell(0, None, None), Cell(0, None, "call")


def study(folder: Path, url: str, agent: str, **extra: str) -> Study:
    cfg = compose(
        [
            "+exp=charm_demo",
            f"agent={agent}",
            "policy=llm",
            "chat=compatible",
            f"chat.base_url={url}/v1",
            "chat.model=m",
            "limit=6",
            "faults.scope=call",
            *(f"{name}={value}" for name, value in extra.items()),
        ]
    )
    context = RunContext(folder / "run", folder / "stores", "demo", Terminal(quiet=True))
    return run_study(cfg, context, lambda: pytest.fail("BM25 needs no embedder"))


def call(query: str) -> Answer:
    function = {"name": "search", "arguments": json.dumps({"query": query})}
    told = {"tool_calls": [{"id": f"c{len(query)}", "type": "function", "function": function}]}
    return completion("I look it up.", finish="tool_calls", message=told)


def question_of(body: dict[str, Any]) -> str:
    texts = (str(m["content"]) for m in body["messages"] if m["role"] == "user")
    return next(t for t in texts if "Question: " in t).split("Question: ", 1)[1].split("\n")[0]


def right(question: str) -> str:
    """The correct answer: only a question that was answered correctly meets a fault."""
    return CORPUS.gold[BY_QUESTION[question].id].answers[0]


def searching(number: int, body: dict[str, Any]) -> Answer:
    """Searches for the first hop of the question's plan, then answers."""
    question = question_of(body)
    if any(m["role"] == "tool" for m in body["messages"]):
        return completion(f"It is said so.\nFinal answer: {right(question)}")
    return call(CORPUS.gold[BY_QUESTION[question].id].hops[0].query)


def test_a_fault_is_placed_where_the_agent_looks_first_and_is_met(tmp_path: Path) -> None:
    with serving(searching) as wire:
        made = study(tmp_path, wire.url, "react")
    injected = [o for o in made.outcomes[FAULTY].values() if isinstance(o, Trajectory)]
    assert injected
    for trajectory in injected:
        assert trajectory.certificate is not None
        clean = made.outcomes[CLEAN][trajectory.task_id]
        assert isinstance(clean, Trajectory)
        assert clean.stages[0].query == trajectory.stages[0].query
        target = trajectory.certificate.target
        [changed] = [h.passage for h in trajectory.stages[0].hits if h.passage.id == target]
        assert changed != CORPUS.passages[target]
        assert trajectory.certificate.edits[0].after in changed.rendered


def test_a_run_that_looks_elsewhere_this_time_misses_the_fault_and_is_skipped(tmp_path: Path) -> None:
    """A model may answer anew where its replies are gone; then what it met is not the fault."""

    anew: list[bool] = []

    def sometimes(number: int, body: dict[str, Any]) -> Answer:
        if not anew or any(m["role"] == "tool" for m in body["messages"]):
            return searching(number, body)
        task = BY_QUESTION[question_of(body)]
        planned = {hop.passage_id for hop in CORPUS.gold[task.id].hops}
        other = next(i for i in CORPUS.pools[task.corpus_ref] if i not in planned)
        return call(CORPUS.passages[other].title)

    with serving(sometimes) as wire:
        first = study(tmp_path, wire.url, "react", **{"agent.top_k": "1"})
        hit = {n for n, o in first.outcomes[FAULTY].items() if isinstance(o, Trajectory)}
        assert hit
        (tmp_path / "stores" / "replies.sqlite").unlink()
        first.stores[1].unlink()
        anew.append(True)
        again = study(tmp_path, wire.url, "react", **{"agent.top_k": "1"})
    assert again.outcomes[CLEAN] == first.outcomes[CLEAN]
    assert {again.outcomes[FAULTY][name] for name in hit} == {Missing.NO_CHANGE}


def test_an_agent_that_never_searches_cannot_be_hit(tmp_path: Path) -> None:
    def knowing(number: int, body: dict[str, Any]) -> Answer:
        return completion(f"I know it.\nFinal answer: {right(question_of(body))}")

    with serving(knowing) as wire:
        made = study(tmp_path, wire.url, "react")
    assert set(made.outcomes[FAULTY].values()) == {Missing.NOT_APPLICABLE}
    assert all(isinstance(o, Trajectory) for o in made.outcomes[CLEAN].values())


def test_ircot_looks_first_for_the_question(tmp_path: Path) -> None:
    def thinking(number: int, body: dict[str, Any]) -> Answer:
        wanted = body["response_format"]["json_schema"]["schema"]["properties"]
        answer = right(question_of(body))
        values = {
            "thought": f"So the answer is {answer}.",
            "conclusion": f"It is {answer}.",
            "answer": answer,
        }
        return completion(json.dumps({name: values[name] for name in wanted}))

    with serving(thinking) as wire:
        made = study(tmp_path, wire.url, "ircot")
    for name, outcome in made.outcomes[FAULTY].items():
        assert outcome in (Missing.NO_SPAN, Missing.NO_DONOR) or isinstance(outcome, Trajectory)
        if isinstance(outcome, Trajectory):
            assert outcome.certificate is not None
            task = next(t for t in CORPUS.tasks if t.id == name)
            assert outcome.stages[0].query == task.question
            assert outcome.certificate.target in [h.passage.id for h in outcome.stages[0].hits]


def test_what_was_answered_wrongly_is_not_run_again_with_a_fault(tmp_path: Path) -> None:
    """Its injected run could never be used, and a language model's calls are paid for."""
    with serving(lambda n, b: completion("I know it.\nFinal answer: nothing of the kind")) as wire:
        made = study(tmp_path, wire.url, "react")
        asked = len(wire.bodies)
    assert set(made.outcomes[FAULTY].values()) == {Missing.WRONG_ANSWER}
    assert asked == len(made.outcomes[CLEAN])

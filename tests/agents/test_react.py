"""ReAct and IRCoT over a loopback server: the graph really runs, its trace becomes stages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultline.agents.ircot import Ircot
from faultline.agents.react import React
from faultline.chat.budget import metered
from faultline.errors import ConfigError, Missing
from faultline.records import Task
from tests.chat.wire import Answer, completion, serving
from tests.policies.test_llm import Everything, policy

TASK = Task("t", "Who wrote Faust?", "p")


def calling(query: str, thought: str = "") -> Answer:
    call = {"id": f"c-{query}", "type": "function"}
    call["function"] = {"name": "search", "arguments": json.dumps({"query": query})}  # type: ignore[assignment]
    return completion(thought, finish="tool_calls", message={"tool_calls": [call]})


STEPS = [
    calling("Faust author", "I must find the author."),
    calling("Goethe birth", "Faust is by Goethe; his birth is missing."),
    completion("Faust is by Goethe.\nFinal answer: Goethe"),
]


def test_a_free_trace_becomes_stages() -> None:
    environment = Everything()
    with serving(lambda n, b: STEPS[n]) as wire, metered() as used:
        stages = React(top_k=2).run(TASK, environment, policy(wire))
    assert [s.kind for s in stages] == ["retrieval", "reasoning", "tool_call", "synthesis"]
    assert [s.index for s in stages] == [1, 2, 3, 4]
    assert environment.queries == ["Faust author", "Goethe birth"]
    assert stages[1].text == "Faust is by Goethe; his birth is missing."
    assert (stages[-1].text, stages[-1].answer) == ("Faust is by Goethe.", "Goethe")
    assert used[-1].calls == 3
    sent = wire.bodies[2]["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert "[1] Faust: Faust is by Goethe." in sent[3]["content"]
    assert wire.bodies[0]["tools"][0]["function"]["name"] == "search"


def test_when_searches_are_used_up_no_tool_is_on_offer() -> None:
    def script(number: int, body: dict[str, Any]) -> Answer:
        return calling(f"q{number}") if "tools" in body else completion("Final answer: unknown")

    with serving(script) as wire:
        stages = React(max_searches=2).run(TASK, Everything(), policy(wire))
    assert [s.kind for s in stages] == ["retrieval", "tool_call", "synthesis"]
    assert (stages[-1].answer, stages[-1].missing) == (None, Missing.NO_SPAN)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (completion("I think so."), Missing.PARSE_ERROR),
        (completion("I thi", finish="length"), Missing.TRUNCATED),
        (completion(None, message={"refusal": "no"}), Missing.REFUSED),
    ],
)
def test_failures_are_typed(answer: Answer, expected: Missing) -> None:
    with serving(lambda n, b: answer) as wire:
        stages = React().run(TASK, Everything(), policy(wire))
    assert [(s.kind, s.answer, s.missing) for s in stages] == [("synthesis", None, expected)]


def test_ircot_searches_for_its_thoughts_until_one_answers() -> None:
    thoughts = iter(["Goethe wrote Faust in Weimar.", "So the answer is Goethe."])

    def script(number: int, body: dict[str, Any]) -> Answer:
        wanted = body["response_format"]["json_schema"]["schema"]["properties"]
        if "thought" in wanted:
            return completion(json.dumps({"thought": next(thoughts)}))
        return completion(json.dumps({"conclusion": "It is Goethe.", "answer": "Goethe"}))

    environment = Everything()
    with serving(script) as wire:
        stages = Ircot(top_k=1).run(TASK, environment, policy(wire))
    assert [s.kind for s in stages] == ["retrieval", "reasoning", "tool_call", "reasoning", "synthesis"]
    assert environment.queries == ["Who wrote Faust?", "Goethe wrote Faust in Weimar."]
    assert stages[-1].answer == "Goethe"
    assert "So the answer is Goethe." in wire.bodies[-1]["messages"][-1]["content"]


@pytest.mark.parametrize("agent", [React(), Ircot()])
def test_the_reader_is_refused(agent: React | Ircot) -> None:
    class Reader:
        backbone = "reader"
        needs_gold = True

    with pytest.raises(ConfigError, match="policy=llm"):
        agent.run(TASK, Everything(), Reader())  # type: ignore[arg-type]

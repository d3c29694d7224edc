"""The llm policy over a loopback server: what is asked, what goes on the record."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from faultline.agents.five_stage import FiveStage
from faultline.chat.backends import LangChainBackend
from faultline.chat.client import ChatClient
from faultline.chat.spec import CallSettings, ChatSpec
from faultline.errors import Missing
from faultline.policies import prompts
from faultline.policies.llm import Llm, LlmSettings
from faultline.records import Hint, Hit, Passage, State, Task
from tests.chat.wire import Answer, Wire, completion, serving, with_logprobs

TASK = Task("t", "Who wrote Faust?", "p")
PASSAGES = (
    Passage("a", "Faust", ("Faust is by Goethe.",)),
    Passage("b", "Goethe", ("Goethe was born in 1749.",)),
)


class Everything:
    """An environment that returns both passages."""

    def __init__(self) -> None:
        self.queries: list[str] = []

    def search(self, query: str, k: int, stage: int) -> tuple[Hit, ...]:
        self.queries.append(query)
        return tuple(Hit(p, 1.0, n) for n, p in enumerate(PASSAGES[:k], 1))

    def hints(self, stage: int) -> tuple[Hint, ...]:
        return ()


def policy(wire: Wire, **extra: Any) -> Llm:
    spec = ChatSpec("openai_compatible", "m", base_url=f"{wire.url}/v1", **extra)
    calls = CallSettings(retries=0, timeout_s=5.0)
    return LlmSettings(spec).build(ChatClient(spec, LangChainBackend(spec, calls), calls=calls))


def answering(number: int, body: dict[str, Any]) -> Answer:
    """Fills the schema that was asked for."""
    wanted = body["response_format"]["json_schema"]["schema"]["properties"]
    values = {"query": "Faust author", "answer": "Goethe", "conclusion": "Faust is by Goethe. It is Goethe."}
    return completion(json.dumps({name: values.get(name, "Faust is by Goethe.") for name in wanted}))


def test_a_whole_trajectory() -> None:
    environment = Everything()
    with serving(answering) as wire:
        stages = FiveStage(top_k=2).run(TASK, environment, policy(wire))
    assert [s.kind for s in stages] == ["retrieval", "reasoning", "reasoning", "tool_call", "synthesis"]
    assert environment.queries == ["Faust author", "Faust author"]
    assert stages[0].text == "Faust: Faust is by Goethe."
    assert stages[-1].answer == "Goethe"
    assert stages[-1].confidence_source == "none"
    asked = [body["messages"][-1]["content"] for body in wire.bodies]
    assert len(asked) == 6
    assert all("Question: Who wrote Faust?" in text for text in asked)
    assert asked[1].count("Faust is by Goethe.") == 1
    assert "- Goethe" in asked[2]


def test_confidence_is_that_of_the_last_sentence() -> None:
    pieces = [
        ('{"conclusion": "', -3.0),
        ("One.", -2.0),
        (" Two", -0.5),
        (" three.", -0.1),
        ('", "answer": "x"}', -1.0),
    ]
    with serving(lambda n, b: with_logprobs(pieces)) as wire:
        action = policy(wire, logprobs=True).act("conclude", State(TASK))
    assert action.confidence == pytest.approx(math.exp(-0.3))
    assert action.token_logprobs == (-2.0, -0.5, -0.1)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (completion('{"finding": "x', finish="length"), Missing.TRUNCATED),
        (completion(None, message={"refusal": "no"}), Missing.REFUSED),
        (completion("prose"), Missing.PARSE_ERROR),
        (completion('{"finding": "The passages do not say.", "answer": null}'), Missing.NO_SPAN),
    ],
)
def test_failures_leave_no_answer(answer: Answer, expected: Missing) -> None:
    with serving(lambda n, b: answer) as wire:
        action = policy(wire).act("read", State(TASK))
    assert (action.answer, action.missing) == (None, expected)
    assert (action.text == "") == (expected is not Missing.NO_SPAN)


def test_a_query_that_could_not_be_had_searches_nothing() -> None:
    environment = Everything()
    with serving(lambda n, b: completion("prose")) as wire:
        stages = FiveStage(top_k=2).run(TASK, environment, policy(wire))
    assert environment.queries == []
    assert (stages[0].missing, stages[0].hits) == (Missing.PARSE_ERROR, ())


def test_hints_samples_and_evidence_reach_the_model() -> None:
    old = (Hit(PASSAGES[0], 1.0, 1),)
    new = (Hit(PASSAGES[1], 1.0, 1), Hit(PASSAGES[0], 0.5, 2))
    state = State(TASK, evidence=(old, new), hints=(Hint("It was Schiller.", "Schiller", 1),), sample=3)
    request = prompts.request("read", state)
    text = request.messages[-1].text
    assert request.sample == 3
    assert "It was Schiller." in text
    assert text.index("[1] Goethe:") < text.index("[2] Faust:")
    assert text.count("Faust is by Goethe.") == 1


def test_the_key_holds_model_and_prompts_but_no_place_or_key() -> None:
    told = str(vars(LlmSettings(ChatSpec("openai", "m", key_env="SOME_KEY"))) | {"_spec": None})
    assert prompts.DIGEST in told
    assert "SOME_KEY" not in told

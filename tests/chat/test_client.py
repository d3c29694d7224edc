"""The whole seam against real HTTP servers on loopback that speak the wire formats."""

from __future__ import annotations

import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from faultline.chat import client as seam
from faultline.chat.backends import LangChainBackend
from faultline.chat.budget import Budget, BudgetError, Price, metered
from faultline.chat.client import CachePolicy, ChatClient
from faultline.chat.logprobs import aligned
from faultline.chat.messages import Message, Reply, Request
from faultline.chat.reply_cache import ReplyCache
from faultline.chat.spec import CallSettings, ChatSpec
from faultline.errors import FaultlineError, Missing, ModelError, StoreError
from tests.chat.wire import Answer, Wire, completion, failure, serving, with_logprobs

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
KEY = "sk-planted-0123456789abcdef"
FAST = CallSettings(concurrency=4, timeout_s=5.0, retries=2, backoff_s=0.01)


@pytest.fixture(autouse=True)
def planted_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_CHAT_KEY", KEY)


def ask(text: str = "Who?", sample: int = 0, schema: dict[str, Any] | None = None) -> Request:
    return Request((Message("system", "Be brief."), Message("user", text)), schema=schema, sample=sample)


def client(
    wire: Wire,
    calls: CallSettings = FAST,
    cached: CachePolicy | None = None,
    budget: Budget | None = None,
    **spec: Any,
) -> ChatClient:
    made = ChatSpec(
        **{
            "provider": "openai",
            "model": "m",
            "base_url": f"{wire.url}/v1",
            "key_env": "TEST_CHAT_KEY",
            **spec,
        }
    )
    return ChatClient(made, LangChainBackend(made, calls), calls=calls, cached=cached, budget=budget)


def test_what_goes_over_the_wire_is_what_the_specification_says() -> None:
    with serving(lambda n, b: completion("Ada.")) as wire:
        spec = {
            "temperature": 0.0,
            "logprobs": True,
            "top_logprobs": 1,
            "seed": 7,
            "max_tokens": 33,
            "top_p": 0.9,
        }
        reply = client(wire, **spec).ask(ask(sample=2, schema=None))
    body = wire.bodies[0]
    assert reply.text == "Ada."
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (10, 5)
    assert reply.model == "m-1"
    assert wire.paths == ["/v1/chat/completions"]
    assert wire.headers[0]["authorization"] == f"Bearer {KEY}"
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who?"},
    ]
    assert body["max_completion_tokens"] == 33
    assert {k: body[k] for k in ("temperature", "logprobs", "top_logprobs", "top_p", "model")} == {
        "temperature": 0.0, "logprobs": True, "top_logprobs": 1, "top_p": 0.9, "model": "m",
    }  # fmt: skip
    assert body["seed"] == 9


def test_a_schema_is_sent_and_its_reply_parsed() -> None:
    with serving(lambda n, b: completion('{"answer": "Ada"}')) as wire:
        reply = client(wire).ask(ask(schema=SCHEMA))
    assert reply.data == {"answer": "Ada"}
    assert wire.bodies[0]["response_format"]["json_schema"]["schema"] == SCHEMA
    assert wire.bodies[0]["response_format"]["json_schema"]["strict"] is True


def test_a_backend_that_cannot_constrain_is_told_the_schema() -> None:
    with serving(lambda n, b: completion('```json\n{"answer": "Ada"}\n```')) as wire:
        reply = client(wire, structured="prompt").ask(ask(schema=SCHEMA))
    assert reply.data == {"answer": "Ada"}
    assert "response_format" not in wire.bodies[0]
    assert '"additionalProperties":false' in wire.bodies[0]["messages"][-1]["content"]


def test_a_broken_reply_is_repaired_once() -> None:
    answers = ['{"answr": 1}', '{"answer": "Ada"}']
    with serving(lambda n, b: completion(answers[n])) as wire:
        reply = client(wire).ask(ask(schema=SCHEMA))
    assert reply.data == {"answer": "Ada"}
    assert reply.calls == 2
    assert reply.usage.input_tokens == 20
    repaired = wire.bodies[1]["messages"]
    assert repaired[-2] == {"role": "assistant", "content": '{"answr": 1}'}
    assert "does not follow the schema" in repaired[-1]["content"]


def test_a_reply_that_stays_broken_is_missing() -> None:
    with serving(lambda n, b: completion("It is Ada.")) as wire:
        reply = client(wire).ask(ask(schema=SCHEMA))
    assert (reply.missing, reply.data, len(wire.bodies)) == (Missing.PARSE_ERROR, None, 2)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (completion("I can", finish="length"), Missing.TRUNCATED),
        (completion(None, message={"refusal": "I cannot help."}), Missing.REFUSED),
        (completion("", finish="content_filter"), Missing.REFUSED),
        (failure(400, "This model's maximum context length is 8 tokens"), Missing.TRUNCATED),
        (failure(400, "filtered: content_filter"), Missing.REFUSED),
    ],
)
def test_typed_failures(answer: Answer, expected: Missing) -> None:
    with serving(lambda n, b: answer) as wire:
        reply = client(wire).ask(ask(schema=SCHEMA))
    assert (reply.missing, reply.data, len(wire.bodies)) == (expected, None, 1)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_or_broken_server_is_asked_again(status: int) -> None:
    with serving(lambda n, b: failure(status) if n < 2 else completion("ok")) as wire:
        assert client(wire).ask(ask()).text == "ok"
    assert len(wire.bodies) == 3


def test_retry_after_is_honoured() -> None:
    with serving(lambda n, b: failure(429, retry_after="0.4") if n == 0 else completion("ok")) as wire:
        client(wire).ask(ask())
    assert wire.times[1] - wire.times[0] >= 0.4


def test_a_call_that_waits_holds_no_slot() -> None:
    one = CallSettings(concurrency=1, timeout_s=5.0, retries=2, backoff_s=0.01)

    def script(number: int, body: dict[str, Any]) -> Answer:
        slow = body["messages"][-1]["content"] == "slow"
        return failure(429, retry_after="0.6") if slow and number == 0 else completion("ok")

    with serving(script) as wire:
        client(wire, calls=one).ask_many([ask("slow"), *(ask(f"fast {i}") for i in range(4))])
    order = [body["messages"][-1]["content"] for body in wire.bodies]
    assert order[0] == order[-1] == "slow"
    assert wire.times[-2] - wire.times[0] < 0.6


def test_concurrency_is_bounded_and_used() -> None:
    with serving(lambda n, b: Answer(completion("ok").body, delay=0.1)) as wire:
        replies = client(wire).ask_many([ask(f"q{i}") for i in range(12)])
    assert [r.text for r in replies] == ["ok"] * 12
    assert wire.most == 4


def test_a_server_that_stays_broken_stops_the_run_with_one_line() -> None:
    with (
        serving(lambda n, b: failure(500)) as wire,
        pytest.raises(ModelError, match="HTTP 500 after 3 attempts"),
    ):
        client(wire).ask(ask())


def test_a_wait_beyond_the_bound_stops_at_once() -> None:
    told = pytest.raises(ModelError, match="asks to wait 9999 s")
    with serving(lambda n, b: failure(429, retry_after="9999")) as wire, told:
        client(wire).ask(ask())
    assert len(wire.bodies) == 1


def test_a_server_that_does_not_answer_in_time_is_a_typed_timeout_and_not_cached(tmp_path: Path) -> None:
    calls = CallSettings(timeout_s=0.2, retries=1, backoff_s=0.01)
    store = ReplyCache(tmp_path / "replies.sqlite")
    with serving(lambda n, b: Answer(completion("late").body, delay=0.6)) as wire:
        reply = client(wire, calls=calls, cached=CachePolicy(store)).ask(ask())
    assert reply.missing is Missing.TIMEOUT
    assert len(wire.bodies) == 2
    assert store.stats().entries == 0


def test_no_server_at_all() -> None:
    with pytest.raises(ModelError, match="no connection"):
        client(Wire("http://127.0.0.1:9")).ask(ask())


def test_a_server_that_speaks_another_language() -> None:
    with serving(lambda n, b: Answer("<html>hello</html>")) as wire, pytest.raises(ModelError):
        client(wire).ask(ask())


def test_no_key_in_any_error_or_traceback() -> None:
    with serving(lambda n, b: failure(401, f"Incorrect API key provided: {KEY}")) as wire:
        try:
            client(wire).ask(ask())
        except FaultlineError:
            told = traceback.format_exc()
    assert "HTTP 401" in told
    assert "TEST_CHAT_KEY" in told
    assert KEY not in told


def test_a_key_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_CHAT_KEY")
    with pytest.raises(ModelError, match="TEST_CHAT_KEY"):
        client(Wire("http://127.0.0.1:9"))


def test_log_probs_are_aligned_by_text_not_by_index() -> None:
    pieces = [("<x>", -9.0), ('{"answer": "', -0.1), ("Zo", -0.2), ("ë.", -0.3), (" Yes", -0.4), ('"}', -0.5)]
    with serving(lambda n, b: with_logprobs(pieces, '{"answer": "Zoë. Yes"}')) as wire:
        reply = client(wire, logprobs=True).ask(ask(schema=SCHEMA))
    assert reply.data == {"answer": "Zoë. Yes"}
    assert aligned(reply.logprobs, "Zoë.") == (-0.2, -0.3)
    assert aligned(reply.logprobs, "Yes") == (-0.4,)
    assert aligned(reply.logprobs, "No") == ()


def test_the_cache_answers_by_request_and_sample(tmp_path: Path) -> None:
    cached = CachePolicy(ReplyCache(tmp_path / "replies.sqlite"))
    with serving(lambda n, b: completion(f"reply {n}")) as wire:
        first = client(wire, cached=cached)
        assert [first.ask(ask(sample=s)).text for s in (0, 1, 0)] == ["reply 0", "reply 1", "reply 0"]
        assert client(wire, cached=cached, temperature=0.5).ask(ask()).text == "reply 2"
        again = client(wire, cached=cached).ask(ask())
        assert (again.text, again.cached) == ("reply 0", True)
        refreshed = client(wire, cached=CachePolicy(cached.store, "refresh"))
        assert [refreshed.ask(ask()).text for _ in range(2)] == ["reply 3", "reply 3"]
        assert client(wire, cached=cached).ask(ask()).text == "reply 3"
    replaying = client(wire, cached=CachePolicy(cached.store, "replay"))
    assert replaying.ask(ask()).text == "reply 3"
    with pytest.raises(StoreError, match="cache=replay"):
        replaying.ask(ask("new"))
    assert KEY.encode() not in b"".join(p.read_bytes() for p in tmp_path.iterdir())


def test_equal_requests_in_flight_are_asked_once() -> None:
    with serving(lambda n, b: Answer(completion(str(n)).body, delay=0.1)) as wire:
        replies = client(wire).ask_many([ask()] * 5)
    assert {r.text for r in replies} == {"0"}
    assert len(wire.bodies) == 1


def test_a_budget_of_calls_stops_cleanly_and_can_be_resumed(tmp_path: Path) -> None:
    store = ReplyCache(tmp_path / "replies.sqlite")
    with serving(lambda n, b: completion("ok")) as wire:
        poor = client(wire, cached=CachePolicy(store), budget=Budget(None, 2, None, 5))
        assert [poor.ask(ask(str(i))).text for i in range(2)] == ["ok", "ok"]
        with pytest.raises(BudgetError, match=r"budget\.calls=2"):
            poor.ask(ask("2"))
        richer = client(wire, cached=CachePolicy(store), budget=Budget(None, 1, None, 5))
        assert [richer.ask(ask(str(i))).cached for i in range(3)] == [True, True, False]
    assert len(wire.bodies) == 3


def test_a_budget_of_dollars_is_never_overspent() -> None:
    price = Price(input=1000.0, output=1000.0, as_of="2026-01-01")  # a reply here costs 15 tokens: 0.015
    with serving(lambda n, b: completion("ok")) as wire:
        asked = client(wire, budget=Budget(0.1, None, price, 5), max_tokens=5)
        with pytest.raises(BudgetError):
            asked.ask_many([ask(str(i)) for i in range(20)])
    assert 0 < asked.budget.spent_usd <= 0.1
    assert asked.budget.spent_usd == pytest.approx(0.015 * len(wire.bodies))


def test_a_meter_bills_cached_replies_as_if_nothing_were_shared(tmp_path: Path) -> None:
    store = ReplyCache(tmp_path / "replies.sqlite")
    with serving(lambda n, b: completion("ok")) as wire:
        asked = client(wire, cached=CachePolicy(store))
        with metered() as used:
            asked.ask(ask())
            asked.ask(ask())
    assert (used[-1].calls, used[-1].input_tokens, used[-1].output_tokens) == (2, 20, 10)
    assert len(wire.bodies) == 1


def test_anthropic_on_the_wire() -> None:
    body = {
        "id": "m", "type": "message", "role": "assistant", "model": "claude-haiku-4-5", "stop_sequence": None,
        "content": [{"type": "text", "text": '{"answer": "Ada"}'}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }  # fmt: skip
    with serving(lambda n, b: Answer(body)) as wire:
        spec = {"provider": "anthropic", "model": "claude-haiku-4-5-20251001", "base_url": wire.url}
        reply = client(wire, **spec).ask(ask(schema=SCHEMA))
    sent = wire.bodies[0]
    assert reply.data == {"answer": "Ada"}
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 4)
    assert KEY in (wire.headers[0].get("x-api-key", ""), wire.headers[0].get("authorization", "")[7:])
    assert sent["output_config"]["format"] == {"type": "json_schema", "schema": SCHEMA}
    assert (sent["temperature"], sent["max_tokens"]) == (0.0, 256)


@pytest.mark.parametrize(
    ("stop", "expected"), [("refusal", Missing.REFUSED), ("max_tokens", Missing.TRUNCATED)]
)
def test_anthropic_failures_are_typed(stop: str, expected: Missing) -> None:
    body = {
        "id": "m", "type": "message", "role": "assistant", "model": "c", "stop_sequence": None,
        "content": [{"type": "text", "text": "I"}], "stop_reason": stop,
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }  # fmt: skip
    with serving(lambda n, b: Answer(body)) as wire:
        reply = client(wire, provider="anthropic", base_url=wire.url).ask(ask())
    assert reply.missing is expected


def test_ollama_on_the_wire() -> None:
    body = {
        "model": "llama3.1", "created_at": "2026-01-01T00:00:00Z", "done": True, "done_reason": "stop",
        "message": {"role": "assistant", "content": '{"answer": "Ada"}'},
        "prompt_eval_count": 8, "eval_count": 6,
    }  # fmt: skip
    with serving(lambda n, b: Answer(body)) as wire:
        spec = {"provider": "ollama", "model": "llama3.1", "base_url": wire.url, "key_env": ""}
        reply = client(wire, **spec, num_ctx=8192, top_p=0.8, temperature=1.0, seed=3).ask(ask(schema=SCHEMA))
    sent = wire.bodies[0]
    assert reply.data == {"answer": "Ada"}
    assert sent["format"] == SCHEMA
    told = {k: sent["options"][k] for k in ("num_ctx", "top_p", "temperature", "seed", "num_predict")}
    assert told == {"num_ctx": 8192, "top_p": 0.8, "temperature": 1.0, "seed": 3, "num_predict": 256}


def test_a_busy_ollama_is_asked_again() -> None:
    def script(number: int, body: dict[str, Any]) -> Answer:
        if number == 0:
            return Answer({"error": "overloaded"}, 503)
        message = {"role": "assistant", "content": "ok"}
        return Answer({"model": "l", "done": True, "done_reason": "stop", "message": message})

    with serving(script) as wire:
        reply: Reply = client(wire, provider="ollama", base_url=wire.url, key_env="").ask(ask())
    assert reply.text == "ok"
    assert reply.usage.input_tokens is None or reply.usage.input_tokens >= 0


def test_threads_that_ask_first_share_one_event_loop() -> None:
    seam._loop.cache_clear()
    with (
        serving(lambda n, b: Answer(completion("ok").body, delay=0.05)) as wire,
        ThreadPoolExecutor(8) as pool,
    ):
        asked = client(wire)
        assert [r.text for r in pool.map(asked.ask, [ask(f"q{i}") for i in range(16)])] == ["ok"] * 16


def test_many_calls_are_under_way_at_once() -> None:
    with serving(lambda n, b: Answer(completion("ok").body, delay=0.05)) as wire:
        asked = client(wire)
        asked.ask_many([ask(f"q{i}") for i in range(20)])
    assert wire.most > 1

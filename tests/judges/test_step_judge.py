import json

import pytest

from faultline.chat.backends import LangChainBackend
from faultline.chat.client import ChatClient
from faultline.chat.spec import CallSettings, ChatSpec
from faultline.errors import ConfigError, Missing
from faultline.judges.step_judge import Log, judge, requests_of
from tests.chat.wire import Answer, completion, serving

LOG = Log("Who founded X?", tuple(f"s{i}" for i in range(1, 8)), gold="Ada")


def asked(script, log, protocol, **options):
    """A judge over a real server on loopback, with what went over the wire."""
    with serving(script) as wire:
        spec = ChatSpec("openai_compatible", "m", base_url=f"{wire.url}/v1")
        calls = CallSettings(concurrency=1, retries=0)
        client = ChatClient(spec, LangChainBackend(spec, calls, ""), calls=calls)
        return judge(client, log, protocol, **options), wire.bodies


def says(**data):
    return completion(json.dumps(data))


def test_all_at_once_reads_the_whole_log_and_the_gold():
    said, bodies = asked(lambda n, body: says(step=3), LOG, "all_at_once")
    assert (said.step, said.missing, said.calls, said.tokens) == (3, None, 1, 15)
    text = bodies[0]["messages"][1]["content"]
    assert all(f"Step {i}: s{i}" in text for i in range(1, 8))
    assert "Correct answer: Ada" in text


def test_a_judge_without_gold_never_sees_it():
    blind = Log(LOG.question, LOG.steps)
    _, bodies = asked(lambda n, body: says(step=3), blind, "all_at_once")
    assert "Ada" not in json.dumps(bodies)


def test_step_by_step_stops_at_the_first_yes_and_shows_no_later_step():
    said, bodies = asked(lambda n, body: says(mistake=n == 3), LOG, "step_by_step")
    shown = [body["messages"][1]["content"] for body in bodies]
    assert said.step == len(shown)
    assert all(f"Step {i}: s{i}" in shown[-1] for i in range(1, said.step + 1))
    assert f"s{said.step + 1}" not in shown[-1]


@pytest.mark.parametrize("true", range(1, 8))
def test_binary_search_finds_every_step_with_a_perfect_model(true):
    def script(number, body):
        text = body["messages"][1]["content"]
        middle = int(text.split(" to ")[1].split(" (first)")[0])
        return says(half="first" if true <= middle else "second")

    said, bodies = asked(script, LOG, "binary_search")
    assert said.step == true
    assert len(bodies) <= 3


def test_a_step_that_is_not_there_is_no_verdict():
    said, _ = asked(lambda n, body: says(step=99), LOG, "all_at_once")
    assert (said.step, said.missing) == (0, Missing.PARSE_ERROR)


def test_prose_is_repaired_once_and_then_missing():
    said, bodies = asked(lambda n, body: completion("I think it is step three."), LOG, "all_at_once")
    assert (said.step, said.missing, len(bodies)) == (0, Missing.PARSE_ERROR, 2)


def test_a_timeout_is_typed():
    spec_calls = CallSettings(concurrency=1, retries=0, timeout_s=0.3)
    with serving(lambda n, body: Answer({}, delay=1.0)) as wire:
        spec = ChatSpec("openai_compatible", "m", base_url=f"{wire.url}/v1")
        client = ChatClient(spec, LangChainBackend(spec, spec_calls, ""), calls=spec_calls)
        said = judge(client, LOG, "all_at_once")
    assert (said.step, said.missing) == (0, Missing.TIMEOUT)


def test_a_log_that_does_not_fit_is_not_sent():
    said, bodies = asked(lambda n, body: says(step=1), LOG, "all_at_once", max_chars=50)
    assert (said.step, said.missing, bodies) == (0, Missing.TOO_LONG, [])


def test_an_estimate_is_never_below_what_is_sent():
    for protocol, script in (
        ("all_at_once", lambda n, body: says(step=1)),
        ("step_by_step", lambda n, body: says(mistake=False)),
        ("binary_search", lambda n, body: says(half="second")),
    ):
        calls, characters = requests_of(LOG, protocol)
        _, bodies = asked(script, LOG, protocol)
        sent = sum(len(m["content"]) for body in bodies for m in body["messages"])
        assert len(bodies) <= calls
        assert sent <= characters


def test_unknown_protocol_and_empty_log_say_what_to_do():
    with pytest.raises(ConfigError, match="choose one of all_at_once"):
        judge(None, LOG, "vote")
    with pytest.raises(ConfigError, match="at least one step"):
        judge(None, Log("q", ()), "all_at_once")

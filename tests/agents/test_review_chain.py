import json

import pytest

from faultline.agents.envelopes import StageMessage, pack, unpack
from faultline.agents.review_chain import STAGES, Prompt, ReviewChain
from faultline.chat.client import ChatClient
from faultline.chat.messages import Reply
from faultline.chat.scripted import ScriptedBackend
from faultline.chat.spec import ChatSpec
from faultline.errors import ConfigError, Missing

SYSTEMS = dict.fromkeys(STAGES, "You are an agent.")
ASKED = Prompt("p1", "Tell me about the Velmora Institute.", "stress")


class Recorder:
    """A chat that answers from a list and keeps the requests."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.requests = []

    def ask(self, request):
        self.requests.append(request)
        return self.replies[len(self.requests) - 1]


def review(utterance="reviewed", context="caution", value="one two three " * 20):
    data = {"utterance": utterance, "whisper_context": context, "whisper_value": value}
    return Reply(json.dumps(data), data=data)


def scripted():
    return ChatClient(ChatSpec("scripted", "scripted"), ScriptedBackend())


class Exact(dict):
    def put(self, text, said):
        self[text] = said


@pytest.mark.parametrize("message", [StageMessage('a\n"é"', "c", "v"), StageMessage("only")])
def test_an_envelope_gives_back_what_was_packed_and_is_open_floor(message):
    packed = pack(message, "p1", "FrontEndAgent", "SecondLevelReviewer")
    assert unpack(packed) == message
    assert packed == pack(message, "p1", "FrontEndAgent", "SecondLevelReviewer")
    from openfloor import Envelope

    again = Envelope.from_dict(json.loads(packed)["openFloor"])
    assert again.conversation.id == "p1"
    assert len(again.events) == (2 if message.whisper_value else 1)


@pytest.mark.parametrize(
    "text",
    ["", "prose", "[]", "{}", '{"openFloor": {"events": []}}', '{"openFloor": {"events": [3]}}',
     '{"openFloor": {"events": [{"eventType": "utterance"}]}}',
     '{"openFloor": {"events": [{"eventType": "bye"}]}}'],
)  # fmt: skip
def test_an_envelope_without_an_utterance_is_typed(text):
    assert unpack(text) is Missing.PARSE_ERROR


def test_a_whisper_alone_is_no_utterance():
    packed = json.loads(pack(StageMessage("x", "c", "v"), "p", "a", "b"))
    packed["openFloor"]["events"] = packed["openFloor"]["events"][1:]
    assert unpack(json.dumps(packed)) is Missing.PARSE_ERROR


@pytest.mark.parametrize(("whisper", "seen"), [("none", 0), ("full", 60), ("summary", 25)])
def test_how_much_of_the_whisper_reaches_the_third_stage(whisper, seen):
    chat = Recorder(Reply("first"), review(), Reply("third"))
    done = ReviewChain(dict.fromkeys(STAGES, chat), SYSTEMS, whisper).run(ASKED)
    assert [s.text for s in done.stages] == ["first", "reviewed", "third"]
    shown = chat.requests[2].messages[-1].text
    assert sum(word in ("one", "two", "three") for word in shown.split()) == seen
    assert ("caution" in shown) is (whisper != "none")
    assert "first" in chat.requests[1].messages[-1].text and "first" not in shown


@pytest.mark.parametrize(
    ("reply", "why"),
    [(Reply("", missing=Missing.TIMEOUT), Missing.TIMEOUT), (Reply("prose"), Missing.PARSE_ERROR),
     (review(utterance="  "), Missing.PARSE_ERROR)],
)  # fmt: skip
def test_a_failed_stage_is_typed_and_the_next_one_is_not_run(reply, why):
    chat = Recorder(Reply("first"), reply)
    done = ReviewChain(dict.fromkeys(STAGES, chat), SYSTEMS).run(ASKED)
    assert [s.missing for s in done.stages] == [None, why, Missing.NOT_RUN]
    assert done.stages[1].text == ""


def test_a_prompt_of_50000_characters_is_too_long_and_nothing_is_sent():
    chat = Recorder()
    chain = ReviewChain(dict.fromkeys(STAGES, chat), SYSTEMS, max_chars=20_000)
    done = chain.run(Prompt("p", "x" * 50_000, "stress"))
    assert [s.missing for s in done.stages] == [Missing.TOO_LONG, Missing.NOT_RUN, Missing.NOT_RUN]
    assert chat.requests == []


def test_an_empty_prompt_is_not_sent():
    done = ReviewChain(dict.fromkeys(STAGES, Recorder()), SYSTEMS).run(Prompt("p", " \n", "stress"))
    assert [s.missing for s in done.stages] == [Missing.NOT_APPLICABLE, Missing.NOT_RUN, Missing.NOT_RUN]


def test_a_memory_serves_every_stage_the_second_time_and_keeps_the_whisper():
    memories = {stage: Exact() for stage in STAGES}
    chain = ReviewChain(dict.fromkeys(STAGES, scripted()), SYSTEMS, "full")
    first, again = chain.run(ASKED, memories), chain.run(Prompt("p2", ASKED.text, "stress"), memories)
    assert [s.hit for s in first.stages] == [False] * 3
    assert [s.hit for s in again.stages] == [True] * 3
    assert [s.text for s in again.stages] == [s.text for s in first.stages]
    assert sum(s.calls for s in again.stages) == 0
    assert json.loads(again.stages[0].envelope)["openFloor"]["conversation"]["id"] == "p2"


def test_a_damaged_memory_entry_is_asked_again():
    memories = {"front": Exact({ASKED.text: "no envelope"})}
    done = ReviewChain(dict.fromkeys(STAGES, scripted()), SYSTEMS).run(ASKED, memories)
    assert not done.stages[0].hit and done.stages[0].text


def test_wrong_settings_are_refused():
    with pytest.raises(ConfigError, match="whisper=loud"):
        ReviewChain(dict.fromkeys(STAGES, Recorder()), SYSTEMS, "loud")
    with pytest.raises(ConfigError, match="third"):
        ReviewChain({"front": Recorder(), "second": Recorder()}, SYSTEMS)

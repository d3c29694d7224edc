import json

import pytest

from faultline.chat.backends import LangChainBackend
from faultline.chat.client import ChatClient
from faultline.chat.spec import CallSettings, ChatSpec
from faultline.errors import ConfigError, Missing
from faultline.judges.kpi_instrument import KPIS, STAGES, KpiJudge
from tests.chat.wire import completion, serving

FOUR = dict(zip(KPIS, (0.1, 0.2, 0.3, 0.4), strict=True))
TEXTS = {stage: f"text of {stage}" for stage in STAGES}


def scored(replies, texts, **options):
    """A judge over a real server on loopback that says the replies in turn, the last one for ever."""
    with serving(lambda n, body: completion(replies[min(n, len(replies) - 1)])) as wire:
        spec = ChatSpec("openai_compatible", "m", base_url=f"{wire.url}/v1", seed=0)
        calls = CallSettings(concurrency=1, retries=0)
        client = ChatClient(spec, LangChainBackend(spec, calls, ""), calls=calls)
        return KpiJudge(client, **options).score("a request", texts), wire.bodies


def test_the_common_instrument_sees_one_response_and_no_stage():
    said, bodies = scored([json.dumps(FOUR)], TEXTS)
    assert [s.values for s in said] == [(0.1, 0.2, 0.3, 0.4)] * 3
    for stage, body in zip(STAGES, bodies, strict=True):
        text = json.dumps(body["messages"])
        assert [f"text of {other}" in text for other in STAGES] == [other == stage for other in STAGES]
        assert "stage" not in text and "is better" not in text


@pytest.mark.parametrize("instrument", ["original", "original_stagewise"])
def test_the_original_instrument_compares_three_with_or_without_the_ranges(instrument):
    reply = {stage: {**FOUR, "ECS": i / 10} for i, stage in enumerate(STAGES)}
    said, bodies = scored([json.dumps(reply)], TEXTS, instrument=instrument)
    assert [s.values[3] for s in said] == [0.0, 0.1, 0.2]
    assert len(bodies) == 1
    assert ("0.70-1.00" in json.dumps(bodies)) is (instrument == "original_stagewise")


@pytest.mark.parametrize(
    "bad",
    ["The FCD is high.", "", json.dumps({**FOUR, "OSR": 0.5}), json.dumps({**FOUR, "ECS": 1.2}),
     json.dumps({**FOUR, "ECS": -0.1}), json.dumps({"FCD": 0.1}), json.dumps({**FOUR, "ECS": "high"}), "NaN",
     json.dumps({**FOUR, "ECS": None}), f"Sure: {json.dumps(FOUR)}"],
)  # fmt: skip
def test_a_bad_reply_is_retried_a_bounded_number_of_times_and_then_missing(bad):
    said, bodies = scored([bad], {"front": "t"}, retries=1)
    assert said[0].values is None and said[0].missing is Missing.PARSE_ERROR
    assert len(bodies) == said[0].calls == 4  # two samples, each repaired once


def test_a_retry_that_follows_the_schema_counts():
    said, _ = scored(["prose", "prose", json.dumps(FOUR)], {"front": "t"}, retries=1)
    assert said[0].values == (0.1, 0.2, 0.3, 0.4) and said[0].calls == 3


def test_too_long_is_not_sent_and_two_stages_cannot_be_compared():
    said, bodies = scored([json.dumps(FOUR)], {"front": "x" * 50_000}, max_chars=10_000)
    assert said[0].missing is Missing.TOO_LONG and bodies == []
    said, bodies = scored([json.dumps(FOUR)], {"front": "a", "third": "b"}, instrument="original")
    assert {s.missing for s in said} == {Missing.NOT_APPLICABLE} and bodies == []


def test_wrong_settings_are_refused():
    with pytest.raises(ConfigError, match="instrument=best"):
        KpiJudge(None, "best")
    with pytest.raises(ConfigError, match="retries=-1"):
        KpiJudge(None, retries=-1)

"""Whatever the monitor does, the pipeline goes on or holds as the policy says; it never sees an exception."""

import threading
import time
from dataclasses import replace

import numpy as np
import orjson
import pytest

from faultline.charm.guard_models import Models
from faultline.errors import ConfigError
from faultline.live.audit import AuditLog, verify
from faultline.live.watch import RUNNING, Watch
from faultline.records import Hit, Passage, Stage
from tests.charm.test_guard import Words, trajectory


class Slow(Words):
    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def verify(self, pairs):
        time.sleep(self.seconds)
        return super().verify(pairs)


def test_a_verdict_record_holds_what_it_was_decided_by(tmp_path):
    log = AuditLog(tmp_path / "a.jsonl")
    watch = Watch("fail_open", Models(Words(), Words()), audit=log)
    for stage in trajectory().stages:
        watch.observe("t", stage)
    records = [orjson.loads(line) for line in log.path.read_bytes().splitlines()]
    assert [r["stage"] for r in records] == [1, 2, 3, 4, 5]
    last = records[-1]
    assert last["thresholds"]["trigger"]["theta"] == 0.55
    assert last["models"] == {"nli": "words", "embedder": "words"}
    assert last["nist"]["sfv"]["risk"] == "Confabulation / Hallucination"
    assert last["texts"]["claim"]["chars"] == len(trajectory().stages[-1].text)
    assert records[3]["score"] is None
    assert len(records[0]["inputs"]["hits"]) == 4
    assert verify(log.path) == (5, [])


@pytest.mark.parametrize(("policy", "action"), [("fail_open", ""), ("fail_closed", "HITL")])
def test_too_slow(tmp_path, policy, action):
    log = AuditLog(tmp_path / "a.jsonl")
    watch = Watch(policy, Models(Slow(2.0), Words()), timeout_s=0.05, audit=log)
    start = time.monotonic()
    seen = watch.observe("t", trajectory().stages[0])
    assert time.monotonic() - start < 1.9  # it did not wait for the models
    assert (seen.failure, seen.action, seen.verdict) == ("timeout", action, None)
    assert orjson.loads(log.path.read_bytes())["reason"] == "timeout"
    # What comes too late changes nothing: the stage stays unscored.
    time.sleep(0.6)
    assert np.isnan(watch.guard("t").scores().consensus).all()


def test_hung_models_do_not_pile_up_threads():
    watch = Watch("fail_open", Models(Slow(1.5), Words()), timeout_s=0.01)
    before = threading.active_count()
    why = [watch.observe(f"t{i}", trajectory().stages[0]).failure for i in range(RUNNING + 5)]
    assert why == ["timeout"] * RUNNING + ["busy"] * 5
    assert threading.active_count() - before <= RUNNING


@pytest.mark.parametrize("policy", ["fail_open", "fail_closed"])
def test_a_log_that_cannot_be_written(tmp_path, policy):
    (tmp_path / "file").write_text("")
    watch = Watch(policy, Models(Words(), Words()), audit=AuditLog(tmp_path / "file" / "a.jsonl"))
    seen = watch.observe("t", trajectory().stages[0])
    assert seen.failure == "audit"
    assert seen.held == (policy == "fail_closed")
    assert watch.failures == 2


def test_too_many_open_trajectories():
    watch = Watch("fail_closed", Models(Words(), Words()), max_open=2)
    seen = [watch.observe(name, trajectory().stages[0]).failure for name in "abc"]
    assert seen == ["", "", "too_many_open"]
    watch.close("a")
    assert watch.observe("c", trajectory().stages[0]).failure == ""


def test_whoever_was_idle_makes_room(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("faultline.live.watch.time.monotonic", lambda: now[0])
    watch = Watch("fail_open", Models(Words(), Words()), max_open=2, idle_s=60)
    first = trajectory().stages[0]
    for name, at in (("a", 0), ("b", 10), ("a", 50)):
        now[0] = at
        assert watch.observe(name, replace(first)).failure == ""
    now[0] = 69
    assert watch.observe("c", first).failure == "too_many_open"
    now[0] = 70  # b was asked for 60 s ago, a 20 s ago
    assert watch.observe("c", first).failure == ""
    assert len(watch.guard("a").stages) == 2
    assert watch.open_trajectories == 2


def test_stages_of_one_trajectory_are_judged_one_after_the_other():
    watch = Watch("fail_open", Models(Slow(0.01), Words()), running=20)
    threads = [
        threading.Thread(target=watch.observe, args=("t", replace(trajectory().stages[0], text=f"said {i}")))
        for i in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert watch.failures == 0
    stages = watch.guard("t").stages
    assert [s.index for s in stages] == list(range(1, 13))
    assert {s.text for s in stages} == {f"said {i}" for i in range(12)}


def test_steps_that_run_again_are_forgotten():
    watch = Watch("fail_open", Models(Words(), Words()))
    steps = [(1, "a"), (2, "b"), (2, "b"), (4, "c"), (2, "d"), (3, "e"), (3, "f"), (1, "g")]
    kept = []
    for number, step in enumerate(steps):
        watch.rewind("t", *step)
        watch.observe("t", replace(trajectory().stages[0], text=f"{number}"))
        kept.append([int(s.text) for s in watch.guard("t").stages])
    assert kept == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 4], [0, 4, 5], [0, 4, 6], [7]]


@pytest.mark.parametrize("text", ["", "   ", "\x00", "\u200b", "x" * 50_000, "{0}%s{{", "\ud800"])
@pytest.mark.parametrize("kind", ["retrieval", "synthesis"])
def test_no_text_raises(text, kind, tmp_path):
    watch = Watch("fail_open", Models(Words(), Words()), audit=AuditLog(tmp_path / "a.jsonl"))
    hit = Hit(Passage("p", "", (text,)), 1.0, 1)
    seen = watch.observe("t", Stage(0, kind, text, query=text, hits=(hit,)))
    assert seen.failure in ("", "UnicodeEncodeError")  # the verifier refused it, typed
    watch.observe("t", Stage(0, "synthesis", "done"))
    assert len(watch.guard("t").stages) == 2


def test_the_policy_must_be_said():
    with pytest.raises(TypeError):
        Watch()
    for wrong in ({"on_failure": "open"}, {"timeout_s": 0.0}, {"max_open": 0}):
        with pytest.raises(ConfigError):
            Watch(**{"on_failure": "fail_open", "models": Models(Words(), Words()), **wrong})


def test_keys_reach_no_file(tmp_path, monkeypatch):
    secrets = ["sk-planted-in-environment", "sk-planted-in-error", "audit-key-planted"]
    monkeypatch.setenv("OPENAI_API_KEY", secrets[0])
    monkeypatch.setenv("FAULTLINE_AUDIT_KEY", secrets[2])

    class Telling(Words):
        def verify(self, pairs):
            raise RuntimeError(f"401 for key {secrets[1]}")

    log = AuditLog(tmp_path / "a.jsonl")
    for models in (Models(Telling(), Words()), Models(Words(), Words())):
        watch = Watch("fail_closed", models, audit=log)
        for stage in trajectory().stages:
            watch.observe("t", stage)
    assert verify(log.path, secrets[2].encode())[1] == []
    for path in tmp_path.rglob("*"):
        for secret in secrets:
            assert secret.encode() not in path.read_bytes(), path

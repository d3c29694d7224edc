"""Many trajectories at once leave the same store as one after the other, with what they cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from faultline.agents import trajectories
from faultline.agents.five_stage import FiveStage
from faultline.agents.trajectories import Job, generate, load, usage
from faultline.chat.backends import LangChainBackend
from faultline.chat.budget import Budget, BudgetError
from faultline.chat.client import CachePolicy, ChatClient
from faultline.chat.reply_cache import ReplyCache
from faultline.chat.spec import CallSettings, ChatSpec
from faultline.errors import Missing
from faultline.policies.llm import Llm
from faultline.records import Prepared, Task, Trajectory
from faultline.store import AppendStore
from tests.chat.wire import Answer, Wire, completion, serving
from tests.policies.test_llm import Everything, answering

JOBS = [
    Job(Task(f"t{i}", f"Who wrote number {i}?", "p"), "clean", 0, lambda: Prepared(Everything()))
    for i in range(6)
]


def llm(wire: Wire, cache: Path | None = None, calls: int | None = None, timeout: float = 5.0) -> Llm:
    spec = ChatSpec("openai_compatible", "m", base_url=f"{wire.url}/v1")
    settings = CallSettings(retries=0, timeout_s=timeout)
    cached = None if cache is None else CachePolicy(ReplyCache(cache))
    budget = Budget(None, calls, None, 5)
    return Llm(ChatClient(spec, LangChainBackend(spec, settings), "", settings, cached, budget))


def test_several_at_once_leave_the_same_bytes(tmp_path: Path) -> None:
    with serving(answering) as wire:
        for workers in (1, 4):
            store = AppendStore(tmp_path / f"{workers}.jsonl")
            generate(store, JOBS, FiveStage(), llm(wire), "d", workers=workers)
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "4.jsonl").read_bytes()
    names = [job.id_in("d") for job in JOBS]
    used = usage(AppendStore(tmp_path / "4.jsonl"), names)
    assert {(u.calls, u.input_tokens, u.output_tokens) for u in used.values()} == {(6, 60, 30)}
    assert all(isinstance(t, Trajectory) for t in load(AppendStore(tmp_path / "4.jsonl"), names).values())


def test_a_spent_budget_keeps_finished_work_and_resumes(tmp_path: Path) -> None:
    def script(number: int, body: dict[str, Any]) -> Answer:
        return answering(number, body)

    with serving(script) as wire:
        undisturbed = AppendStore(tmp_path / "whole.jsonl")
        generate(undisturbed, JOBS, FiveStage(), llm(wire), "d")
        asked = len(wire.bodies)
        store = AppendStore(tmp_path / "stopped.jsonl")
        with pytest.raises(BudgetError):
            generate(store, JOBS, FiveStage(), llm(wire, tmp_path / "c.sqlite", calls=15), "d")
        assert len(store.ids()) == 2
        generate(AppendStore(store.path), JOBS, FiveStage(), llm(wire, tmp_path / "c.sqlite"), "d", workers=3)
    assert store.path.read_bytes() == undisturbed.path.read_bytes()
    assert len(wire.bodies) == 2 * asked


def test_a_reply_without_usage_is_counted_as_such(tmp_path: Path) -> None:
    def script(number: int, body: dict[str, Any]) -> Answer:
        answer = answering(number, body)
        answer.body.pop("usage")
        return answer

    store = AppendStore(tmp_path / "s.jsonl")
    with serving(script) as wire:
        generate(store, JOBS[:1], FiveStage(), llm(wire), "d")
    assert usage(store, [JOBS[0].id_in("d")])["d/t0/clean/0"].uncounted == 6
    assert json.loads(json.dumps(completion("x").body))


def test_what_timed_out_is_asked_again_by_the_next_process_and_only_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is too slow for one whole trajectory, then is well again."""

    def slow(number: int, body: dict[str, Any]) -> Answer:
        answer = answering(number, body)
        answer.delay = 1.0 if "number 1?" in json.dumps(body) else 0.0
        return answer

    store, names = AppendStore(tmp_path / "s.jsonl"), [job.id_in("d") for job in JOBS[:3]]
    with serving(slow) as wire:
        generate(store, JOBS[:3], FiveStage(), llm(wire, timeout=0.3), "d")
        asked = len(wire.bodies)
        generate(store, JOBS[:3], FiveStage(), llm(wire, timeout=0.3), "d")
        assert len(wire.bodies) == asked, "one process reports one state of things"
    found = load(store, names)
    late = found[names[1]]
    assert isinstance(late, Trajectory)
    assert {stage.missing for stage in late.stages} >= {Missing.TIMEOUT}
    monkeypatch.setattr(trajectories, "_made_here", {})
    with serving(answering) as wire:
        generate(AppendStore(store.path), JOBS[:3], FiveStage(), llm(wire), "d")
        assert {"number 1?" in json.dumps(body) for body in wire.bodies} == {True}
    again = load(AppendStore(store.path), names)
    assert all(isinstance(t, Trajectory) and t.missing is None for t in again.values())
    assert [again[n] for n in (names[0], names[2])] == [found[n] for n in (names[0], names[2])]


def test_a_refresh_makes_each_trajectory_again_once_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.jsonl"
    with serving(answering) as wire:
        generate(AppendStore(path), JOBS, FiveStage(), llm(wire), "d")
        asked = len(wire.bodies)
        monkeypatch.setattr(trajectories, "_made_here", {})
        for _ in range(2):
            generate(AppendStore(path), JOBS, FiveStage(), llm(wire), "d", again=True)
        assert len(wire.bodies) == 2 * asked
    assert len(AppendStore(path).read()) == len(JOBS)

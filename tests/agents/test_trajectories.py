"""The run verb: typed skips, resume after a kill, two processes, and what is correct."""

import contextlib
import multiprocessing
import os
import signal
import threading
from functools import partial

import pytest
from tqdm import tqdm

from faultline.agents.five_stage import FiveStage
from faultline.agents.trajectories import Job, generate, is_correct, load
from faultline.errors import Missing
from faultline.faults.retrieval import RetrievalFault, SpanSwap
from faultline.policies.reader import ReaderSettings
from faultline.records import Gold, Prepared, State, Trajectory
from faultline.retrieval.bm25 import Bm25
from faultline.retrieval.environment import Environments
from faultline.store import AppendStore


def jobs_of(corpus, policy, scope=None, sample=0):
    environments = Environments(corpus, Bm25())
    swap = None if scope is None else SpanSwap(corpus, RetrievalFault(scope=scope))

    def prepare(task):
        clean = environments.clean(task)
        if swap is None:
            return Prepared(clean)
        return swap.prepare(task, clean, policy.act("query", State(task)).text, 5, sample)

    return [Job(task, scope or "clean", sample, partial(prepare, task)) for task in corpus.tasks]


def made(corpus, path, scope=None):
    policy = ReaderSettings().build(corpus)
    store, jobs = AppendStore(path), jobs_of(corpus, policy, scope)
    generate(store, jobs, FiveStage(), policy, corpus.name)
    return load(store, [job.id_in(corpus.name) for job in jobs])


def test_every_task_gets_a_trajectory_under_its_id(small, tmp_path):
    found = made(small, tmp_path / "s.jsonl")
    assert list(found) == [f"small/{task.id}/clean/0" for task in small.tasks]
    for task in small.tasks:
        trajectory = found[f"small/{task.id}/clean/0"]
        assert isinstance(trajectory, Trajectory) and trajectory.certificate is None
        assert (trajectory.task_id, trajectory.question) == (task.id, task.question)
        assert (trajectory.dataset, trajectory.backbone, trajectory.sample) == ("small", "reader", 0)
        assert trajectory.answer == trajectory.stages[-1].answer
        assert is_correct(trajectory, small.gold[task.id])


def test_skips_are_typed_and_kept(synthetic, tmp_path):
    found = made(synthetic, tmp_path / "s.jsonl", "call")
    skips = [o for o in found.values() if isinstance(o, Missing)]
    kept = [o for o in found.values() if isinstance(o, Trajectory)]
    assert len(skips) + len(kept) == len(synthetic.tasks)
    assert set(skips) <= {Missing.NO_SPAN, Missing.NO_DONOR, Missing.NO_CHANGE}
    assert all(t.certificate is not None and t.condition == "call" for t in kept)


def test_a_second_call_runs_nothing_and_keeps_the_bytes(small, tmp_path):
    made(small, tmp_path / "s.jsonl")
    before = (tmp_path / "s.jsonl").read_bytes()
    policy = ReaderSettings().build(small)

    def never():
        raise AssertionError("prepared again")

    jobs = [Job(task, "clean", 0, never) for task in small.tasks]
    seen = []
    generate(AppendStore(tmp_path / "s.jsonl"), jobs, FiveStage(), policy, "small", seen.append)
    assert (tmp_path / "s.jsonl").read_bytes() == before and sum(seen) == len(jobs)


def test_an_error_keeps_what_was_finished(small, tmp_path):
    policy = ReaderSettings().build(small)
    jobs = jobs_of(small, policy)

    def broken():
        raise RuntimeError("no network")

    spoiled = [*jobs[:2], Job(jobs[2].task, "clean", 0, broken), jobs[3]]
    store = AppendStore(tmp_path / "s.jsonl")
    with pytest.raises(RuntimeError):
        generate(store, spoiled, FiveStage(), policy, "small")
    assert len(AppendStore(store.path).ids()) == 2
    generate(AppendStore(store.path), jobs, FiveStage(), policy, "small")
    made(small, tmp_path / "whole.jsonl")
    assert store.path.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_samples_and_conditions_are_records_of_their_own(small, tmp_path):
    policy, store = ReaderSettings().build(small), AppendStore(tmp_path / "s.jsonl")
    for sample in (0, 1):
        generate(store, jobs_of(small, policy, sample=sample), FiveStage(), policy, "small")
    generate(store, jobs_of(small, policy, "call"), FiveStage(), policy, "small")
    assert len(store.ids()) == 3 * len(small.tasks)


def both_conditions(corpus, path, done):
    """A process's work: clean runs, then changed ones; what is done goes down the pipe as it is done."""
    # A lock that forks share stays locked for ever once a child that holds it is killed.
    tqdm.set_lock(threading.RLock())
    policy, store = ReaderSettings().build(corpus), AppendStore(path)
    done.send(0)
    for scope in (None, "corpus"):
        generate(store, jobs_of(corpus, policy, scope), FiveStage(), policy, corpus.name, done.send)


def started(corpus, path):
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=both_conditions, args=(corpus, path, sender))
    process.start()
    sender.close()
    return process, receiver


def drained(receiver):
    with contextlib.suppress(EOFError):
        while True:
            receiver.recv()


def test_killed_at_several_moments_the_bytes_are_those_of_an_undisturbed_run(synthetic, tmp_path):
    path, whole = tmp_path / "s.jsonl", tmp_path / "whole.jsonl"
    sizes = []
    for finished in (
        0,
        1,
        7,
        29,
        55,
        56,
        89,
        109,
    ):  # early, late, in both conditions
        process, receiver = started(synthetic, path)
        seen = receiver.recv()
        while seen < finished:
            seen += receiver.recv()
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        sizes.append(path.stat().st_size if path.exists() else 0)
    assert sizes == sorted(sizes) and sizes[-1] > 0
    process, receiver = started(synthetic, path)
    drained(receiver)
    process.join()
    found = {**made(synthetic, path), **made(synthetic, path, "corpus")}
    assert found == {**made(synthetic, whole), **made(synthetic, whole, "corpus")}
    assert path.read_bytes() == whole.read_bytes()
    assert len(found) == 2 * len(synthetic.tasks) == len(path.read_bytes().splitlines())


def test_two_processes_at_once_do_the_work_once(synthetic, tmp_path):
    path, whole = tmp_path / "s.jsonl", tmp_path / "whole.jsonl"
    both = [started(synthetic, path) for _ in range(2)]
    for _, receiver in both:
        threading.Thread(target=drained, args=(receiver,), daemon=True).start()
    for process, _ in both:
        process.join(60)
        assert process.exitcode == 0
    made(synthetic, whole)
    made(synthetic, whole, "corpus")
    assert sorted(path.read_bytes().splitlines()) == sorted(whole.read_bytes().splitlines())


def outcome(answer):
    return Trajectory("i", "d", "t", "clean", 0, "q", (), answer, "reader")


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("Tarnwick", True),
        ("the tarnwick!", True),
        ("Port Tarnwick", False),
        ("2", True),
        (None, False),
        ("", False),
    ],
)
def test_correct_is_an_exact_match_after_normalisation(answer, right):
    assert is_correct(outcome(answer), Gold("t", ("Tarnwick", "2"), (), (), "bridge")) is right

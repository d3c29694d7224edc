"""The run verb: finished trajectories, one at a time, into a store that a killed run resumes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultline.chat.budget import Used, metered
from faultline.codec import decode
from faultline.corpora.spans import normalise
from faultline.errors import Missing
from faultline.records import (
    Agent,
    Gold,
    Policy,
    Prepared,
    Stage,
    Task,
    Trajectory,
)
from faultline.store import AppendStore, exclusive

Outcome = Trajectory | Missing


@dataclass(frozen=True, slots=True)
class Job:
    """One trajectory to be made; ``prepare`` gives a typed reason where there is nothing to run."""

    task: Task
    condition: str
    sample: int
    prepare: Callable[[], Prepared | Missing]

    def id_in(self, dataset: str) -> str:
        """The trajectory's id: data set, example, condition, sample."""
        return f"{dataset}/{self.task.id}/{self.condition}/{self.sample}"


def generate(
    store: AppendStore,
    jobs: Iterable[Job],
    agent: Agent,
    policy: Policy,
    dataset: str,
    progress: Callable[[int], None] = lambda done: None,
    workers: int = 1,
    again: bool = False,
) -> None:
    """Run every job whose trajectory the store does not hold, or holds with a call that timed out.

    A timeout is not something the model said: as in the reply cache, another process asks again. A second
    process with the same store waits for the first, then finds its work done.

    Args:
        workers: Trajectories at once, for policies that wait for a server; the store keeps the jobs' order.
        again: Also run those that the store holds, unless this process made them (``cache=refresh``).
    """

    def work(job: Job) -> tuple[str, dict[str, Any]]:
        name = job.id_in(dataset)
        prepared = job.prepare()
        if isinstance(prepared, Missing):
            return name, {"skipped": prepared}
        with metered() as used:
            acting = prepared.policy or policy
            stages = agent.run(job.task, prepared.environment, acting, sample=job.sample)
        missed = prepared.met is not None and not prepared.met(stages)
        # A fault that the run never met changed nothing: no trajectory with that fault exists.
        record: dict[str, Any] = (
            {"skipped": Missing.NO_CHANGE}
            if missed
            else {"trajectory": _finished(name, dataset, job, prepared, stages, policy)}
        )
        return name, {**record, "usage": used[-1]} if used[-1].calls else record

    with exclusive(store.path.with_suffix(".lock")):
        everything = list(jobs)
        mine = _made_here.setdefault(store.path.absolute(), set())
        wanted = {job.id_in(dataset) for job in everything} - mine
        late = _timed_out(store)  # reads the store anew: another process may have written since
        store.drop(wanted if again else wanted & late)
        mine |= wanted
        known = store.ids()
        pending = [job for job in everything if job.id_in(dataset) not in known]
        progress(len(everything) - len(pending))
        for record in _in_order(work, pending, workers):
            store.append([record])
            progress(1)


def usage(store: AppendStore, ids: Iterable[str]) -> dict[str, Used]:
    """What the chat calls of each trajectory took, by id; ids without chat calls are left out."""
    records = store.read()
    return {name: decode(Used, records[name]["usage"]) for name in ids if "usage" in records[name]}


def load(store: AppendStore, ids: Iterable[str]) -> dict[str, Outcome]:
    """Trajectories and typed skips by id, in the order of ``ids``."""
    records = store.read()
    return {name: _outcome(records[name]) for name in ids}


def is_correct(trajectory: Trajectory, gold: Gold) -> bool:
    """Exact match after SQuAD normalisation with any accepted answer; a missing answer is not correct."""
    if trajectory.answer is None:
        return False
    return normalise(trajectory.answer) in {normalise(answer) for answer in gold.answers}


def _in_order(
    work: Callable[[Job], tuple[str, dict[str, Any]]], jobs: list[Job], workers: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    if workers <= 1:
        yield from map(work, jobs)
        return
    with ThreadPoolExecutor(workers) as pool:
        try:
            yield from pool.map(work, jobs)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _timed_out(store: AppendStore) -> set[str]:
    """Ids of the trajectories in which a call timed out."""

    def stages(record: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
        # Only a language model's calls time out, and only its trajectories hold their usage.
        return record["trajectory"]["stages"] if "usage" in record and "trajectory" in record else ()

    return {
        name
        for name, record in store.read().items()
        if any(stage.get("missing") == Missing.TIMEOUT for stage in stages(record))
    }


_made_here: dict[Path, set[str]] = {}
"""Ids that this process made or took from each store: they are made once a process."""


def _finished(
    name: str, dataset: str, job: Job, prepared: Prepared, stages: tuple[Stage, ...], policy: Policy
) -> Trajectory:
    return Trajectory(
        id=name,
        dataset=dataset,
        task_id=job.task.id,
        condition=job.condition,
        sample=job.sample,
        question=job.task.question,
        stages=stages,
        answer=stages[-1].answer,
        backbone=policy.backbone,
        missing=stages[-1].missing,
        certificate=prepared.certificate,
    )


def _outcome(record: Mapping[str, object]) -> Outcome:
    if "skipped" in record:
        return Missing(str(record["skipped"]))
    return decode(Trajectory, record["trajectory"])

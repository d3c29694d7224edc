"""The run verb: finished trajectories, one at a time, into a store that a killed run resumes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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
) -> None:
    """Run every job whose trajectory the store does not hold.

    A second process with the same store waits for the first, then finds its work done.

    Args:
        workers: Trajectories at once, for policies that wait for a server; the store keeps the jobs' order.
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
        known = store.ids()
        everything = list(jobs)
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

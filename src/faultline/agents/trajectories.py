"""The run verb: finished trajectories, one at a time, into a store that a killed run resumes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

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
) -> None:
    """Run every job whose trajectory the store does not hold.

    A second process with the same store waits for the first, then finds its work done.
    """
    with exclusive(store.path.with_suffix(".lock")):
        known = store.ids()
        for job in jobs:
            name = job.id_in(dataset)
            if name not in known:
                prepared = job.prepare()
                if isinstance(prepared, Missing):
                    store.append([(name, {"skipped": prepared})])
                else:
                    stages = agent.run(job.task, prepared.environment, policy, sample=job.sample)
                    store.append(
                        [(name, {"trajectory": _finished(name, dataset, job, prepared, stages, policy)})]
                    )
            progress(1)


def load(store: AppendStore, ids: Iterable[str]) -> dict[str, Outcome]:
    """Trajectories and typed skips by id, in the order of ``ids``."""
    records = store.read()
    return {name: _outcome(records[name]) for name in ids}


def is_correct(trajectory: Trajectory, gold: Gold) -> bool:
    """Exact match after SQuAD normalisation with any accepted answer; a missing answer is not correct."""
    if trajectory.answer is None:
        return False
    return normalise(trajectory.answer) in {normalise(answer) for answer in gold.answers}


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

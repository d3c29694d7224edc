"""Where a fault is put: one task, ready to run; and what every fault asks of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from faultline.errors import Missing
from faultline.records import (
    Agent,
    Embedder,
    Gold,
    Hit,
    Hop,
    LoadedCorpus,
    Policy,
    Prepared,
    Task,
)
from faultline.retrieval.environment import PlainEnvironment


@dataclass(frozen=True, slots=True)
class Site:
    """One task before its run.

    Attributes:
        task: The task.
        clean: Its clean environment.
        agent: Who runs it.
        policy: Who acts.
        top_k: Passages a retrieval returns.
        first_query: What the clean run's first retrieval asked.
        sample: Sample index; repeats take other donors.
    """

    task: Task
    clean: PlainEnvironment
    agent: Agent
    policy: Policy
    top_k: int
    first_query: str
    sample: int = 0


class Injector(Protocol):
    """Puts one kind of fault into the environments of one data set."""

    def inject(self, site: Site) -> Prepared | Missing:
        """The task with the fault in it, or why there is none."""
        ...


class FaultSettings(Protocol):
    """What ``conf/faults`` makes: the settings of a fault, part of the trajectories' key."""

    name: str

    def build(self, corpus: LoadedCorpus, embedder: Callable[[], Embedder]) -> Injector:
        """What injects it. The embedder is made on first use, by faults that search with one."""
        ...


def carried(gold: Gold, hits: Sequence[Hit]) -> Hop | None:
    """The first hop whose value stands in the top-1 passage; None if there is none."""
    if not hits:
        return None
    return next((h for h in gold.hops if h.span is not None and h.passage_id == hits[0].passage.id), None)


def forbidden(corpus: LoadedCorpus, task: Task) -> str:
    """What must not name a donor: the question, its answers, and its own passages."""
    gold = corpus.gold[task.id]
    own = (corpus.passages[i].rendered for i in corpus.pools[task.corpus_ref])
    return " \n ".join((task.question, *gold.answers, *(hop.answer for hop in gold.hops), *own))

"""The trajectories of a CHARM study: clean and injected runs of every task, and who is in which set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from hydra.utils import get_object
from omegaconf import DictConfig, ListConfig, OmegaConf

from experiments import chat_models
from experiments.composition import instantiate
from experiments.models import identity
from faultline.agents.trajectories import Job, Outcome, generate, is_correct, load, usage
from faultline.chat.budget import Used
from faultline.chat.client import ChatClient
from faultline.codec import key_of
from faultline.corpora import splits
from faultline.errors import ConfigError, Missing
from faultline.faults.site import FaultSettings, Site
from faultline.records import LoadedCorpus, Prepared, Task, Trajectory, describe
from faultline.reporting.run_context import RunContext
from faultline.retrieval.environment import Environments
from faultline.stats import generator
from faultline.store import AppendStore

CLEAN_SHARE = 200 / 700
"""Clean questions of HotpotQA among all that are used (paper 1, VI-A7: 500 injected, 200 clean)."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting of the axes: the repeat, the reader's trust, the fault's scope (None for clean)."""

    repeat: int
    trust: float | None
    scope: str | None

    def condition(self, fault: str) -> str:
        """As in the results table."""
        parts = [f"fault={fault}", f"scope={self.scope}"] if self.scope else ["fault=none"]
        return ";".join(parts + ([] if self.trust is None else [f"trust={self.trust:g}"]))


@dataclass(frozen=True, slots=True)
class Study:
    """Everything that was run.

    Attributes:
        corpus: The data set.
        tasks: The tasks in use.
        outcomes: By cell, then by task id: the trajectory, or why there is none.
        stores: Files of the trajectory stores.
        usage: What the chat calls of each trajectory took, by its id.
        client: Of the language model, None without one.
    """

    corpus: LoadedCorpus
    tasks: tuple[Task, ...]
    outcomes: dict[Cell, dict[str, Outcome]]
    stores: tuple[Path, ...]
    usage: Mapping[str, Used] = field(default_factory=dict)
    client: ChatClient | None = None

    @property
    def trajectories(self) -> list[Trajectory]:
        """Every trajectory that was made, in the order of cells and tasks."""
        made = (outcome for outcomes in self.outcomes.values() for outcome in outcomes.values())
        return [outcome for outcome in made if isinstance(outcome, Trajectory)]


def load_corpus(cfg: DictConfig) -> LoadedCorpus:
    """The data set, checked against the split list: what is tested on is never what was fitted on."""
    source = instantiate(cfg.corpora)
    corpus: LoadedCorpus = source.load()
    splits.check(corpus.name, getattr(source, "split", "test"), corpus.tasks)
    return corpus


def chosen(corpus: LoadedCorpus, limit: int | None, seed: int) -> tuple[Task, ...]:
    """All tasks, or ``limit`` of them by a seeded order that does not depend on the limit."""
    if limit is None:
        return corpus.tasks
    if limit < 1:
        raise ConfigError(f"limit={limit}: must be at least 1")
    order = sorted(corpus.tasks, key=lambda task: key_of(["limit", seed, task.id]))
    names = {task.id for task in order[:limit]}
    return tuple(task for task in corpus.tasks if task.id in names)


def cells(cfg: DictConfig) -> list[Cell]:
    """Every setting of the axes, clean cells before the injected ones that are compared with them."""
    trusts = _axis(cfg.policy.trust) if "trust" in cfg.policy else [None]
    scopes = _axis(cfg.faults.scope)
    return [Cell(r, t, scope) for r in range(cfg.repeats) for t in trusts for scope in (None, *scopes)]


def run_study(cfg: DictConfig, context: RunContext, embedder: Callable[[], Any]) -> Study:
    """Run (or find in the stores) every task in every cell.

    Args:
        cfg: The configuration.
        context: Where stores and progress bars are.
        embedder: Makes the embedder, for a retriever that needs one.
    """
    corpus = load_corpus(cfg)
    tasks = chosen(corpus, cfg.limit, cfg.seed)
    own = chat_models.retrieval_embedder(cfg, context.stores)
    attacker = embedder if own is None else (lambda: own)
    environments = environments_of(cfg, corpus, attacker)
    outcomes: dict[Cell, dict[str, Outcome]] = {}
    paths = []
    wanted = cells(cfg)
    client = _client(cfg, context)
    used: dict[str, Used] = {}
    with context.progress("trajectories", len(tasks) * len(wanted)) as advance:
        for cell in wanted:
            store = AppendStore(context.stores / "trajectories" / f"{store_key(cfg, corpus, cell)}.jsonl")
            base = outcomes.get(replace(cell, scope=None), {})
            outcomes[cell] = _run_cell(
                cfg, corpus, tasks, environments, cell, base, store, advance, client, attacker
            )
            used |= usage(store, (o.id for o in outcomes[cell].values() if not isinstance(o, Missing)))
            paths.append(store.path)
    return Study(corpus, tasks, outcomes, tuple(dict.fromkeys(paths)), used, client)


def _run_cell(
    cfg: DictConfig,
    corpus: LoadedCorpus,
    tasks: Sequence[Task],
    environments: Environments,
    cell: Cell,
    base: Mapping[str, Outcome],
    store: AppendStore,
    advance: Callable[[int], None],
    client: ChatClient | None,
    embedder: Callable[[], Any],
) -> dict[str, Outcome]:
    agent = instantiate(cfg.agent)
    policy = policy_of(cfg, cell).build(corpus if client is None else client)
    condition = cell.condition(cfg.faults.name)
    injector = None if cell.scope is None else fault_of(cfg, cell).build(corpus, embedder)

    def prepare(task: Task) -> Prepared | Missing:
        clean = environments.clean(task)
        if injector is None:
            return Prepared(clean)
        # What the agent itself looks for first, and so will look for again in the injected run.
        ran = base[task.id]
        query = "" if isinstance(ran, Missing) else ran.stages[0].query
        if not query:
            return Missing.NOT_APPLICABLE
        return injector.inject(Site(task, clean, agent, policy, agent.top_k, query, cell.repeat))

    jobs = [Job(task, condition, cell.repeat, partial(prepare, task)) for task in tasks]
    workers = 1 if client is None else chat_models.calls_of(cfg, client.spec).concurrency
    again = client is not None and cfg.cache == "refresh"
    generate(store, jobs, agent, policy, corpus.name, advance, workers, again)
    found = load(store, [job.id_in(corpus.name) for job in jobs])
    return {job.task.id: found[job.id_in(corpus.name)] for job in jobs}


def environments_of(cfg: DictConfig, corpus: LoadedCorpus, embedder: Callable[[], Any]) -> Environments:
    """The clean environments of a data set."""
    needs = {"embedder": embedder} if cfg.retrieval.needs_embedder else {}
    return Environments(corpus, instantiate(cfg.retrieval.index, **needs), cfg.retrieval.pool)


def _client(cfg: DictConfig, context: RunContext) -> ChatClient | None:
    """One client a run, so that its budget is the run's; None for a policy that is no language model."""
    if not chat_models.uses_chat(cfg):
        return None
    settings = instantiate(cfg.policy)
    return chat_models.client(cfg, settings.spec, settings.digest, context.stores)


def store_key(cfg: DictConfig, corpus: LoadedCorpus, cell: Cell) -> str:
    """Everything that a trajectory of the cell depends on, and nothing else."""
    fault = None if cell.scope is None else fault_of(cfg, cell)
    dense = bool(cfg.retrieval.needs_embedder) and "embedder" not in cfg.retrieval
    dense = dense or getattr(fault, "needs_embedder", False)
    return key_of(
        {
            "corpus": [corpus.name, corpus.version, corpus.digest],
            "retrieval": [
                OmegaConf.to_container(cfg.retrieval, resolve=True),
                get_object(cfg.retrieval.index._target_).version,
            ],
            "embedder": [identity(cfg.embedder), str(cfg.trainer.precision)] if dense else None,
            "policy": describe(policy_of(cfg, cell)),
            "agent": describe(instantiate(cfg.agent)),
            "fault": None if fault is None else describe(fault),
        },
        24,
    )


def policy_of(cfg: DictConfig, cell: Cell) -> Any:
    """The policy's settings in a cell; ``build(corpus)`` makes the policy."""
    axes = {} if cell.trust is None else {"trust": cell.trust, "seed": cfg.seed}
    return instantiate(cfg.policy, **axes)


def fault_of(cfg: DictConfig, cell: Cell) -> FaultSettings:
    """The fault's settings in a cell."""
    fault: FaultSettings = instantiate(cfg.faults, scope=cell.scope, seed=cfg.seed)
    return fault


def _axis(value: Any) -> list[Any]:
    return list(value) if isinstance(value, ListConfig) else [value]


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which tasks are used how, in one repeat and at one trust.

    Attributes:
        injected: Task ids whose injected runs are evaluated.
        clean: Task ids whose clean runs are; disjoint from ``injected``.
        eligible: Both, in the tasks' order.
        skipped: Tasks out of use, by reason.
    """

    injected: tuple[str, ...]
    clean: tuple[str, ...]
    eligible: tuple[str, ...]
    skipped: Counter[str]


def assign(study: Study, cell: Cell, reference: Cell, seed: int) -> Assignment:
    """Split the questions that can be in either set, at random, in the paper's proportion.

    A question is eligible if its clean run answers correctly and its first retrieval can carry the fault:
    then both sets are drawn from one population, and no question is in both.

    Args:
        study: What was run.
        cell: A clean cell.
        reference: The injected cell that says whether the fault can be placed.
        seed: Of the draw.
    """
    skipped: Counter[str] = Counter()
    eligible = []
    for task in study.tasks:
        reason = _unusable(study, task, cell, reference)
        if reason is None:
            eligible.append(task.id)
        else:
            skipped[reason] += 1
    order = sorted(eligible, key=lambda name: generator(seed, name, "assignment", cell.repeat).random())
    clean = set(order[: round(len(order) * CLEAN_SHARE)])
    return Assignment(
        injected=tuple(name for name in eligible if name not in clean),
        clean=tuple(name for name in eligible if name in clean),
        eligible=tuple(eligible),
        skipped=skipped,
    )


def _unusable(study: Study, task: Task, cell: Cell, reference: Cell) -> str | None:
    base, hit = study.outcomes[cell][task.id], study.outcomes[reference][task.id]
    if isinstance(base, Missing):
        return f"clean:{base}"
    if not is_correct(base, study.corpus.gold[task.id]):
        return f"clean:{base.missing or Missing.WRONG_ANSWER}"
    return f"fault:{hit}" if isinstance(hit, Missing) else None

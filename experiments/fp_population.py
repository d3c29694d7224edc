"""The traces of a study of paper 2: base runs, injected runs, and the cases that diagnosers get.

Base and injected traces are generated once into stores that every experiment shares; a new diagnoser only
adds interventions that nobody asked for before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from experiments.chat_models import uses_chat
from experiments.composition import instantiate
from experiments.models import identity
from faultline.agents.hop_loop import HopLoop, hops_of
from faultline.agents.trajectories import Outcome, load
from faultline.attribution.diagnosis import Case, right
from faultline.chat.client import ChatClient
from faultline.codec import key_of
from faultline.errors import ConfigError, Missing
from faultline.faults.hops import HopFault, HopInjector, Injection
from faultline.interventions.execute import Scene, execute, support
from faultline.interventions.probe import Probe, ProbeResult, Probes
from faultline.interventions.store import InterventionStore
from faultline.policies.llm import Llm
from faultline.policies.reader import Reader
from faultline.records import Gold, LoadedCorpus, Stage, Task, Trajectory, describe
from faultline.retrieval.environment import Environments
from faultline.store import AppendStore, exclusive

ASSERTED = ("false_premise", "stale")
"""Faults that work through trust: only they have it as an axis."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Who runs, over what: the pool, and the reader's trust and noise (None for a language model)."""

    pool: str
    trust: float | None
    noise: float | None

    @property
    def condition(self) -> str:
        """As in the results table."""
        if self.trust is None or self.noise is None:
            return f"pool={self.pool}"
        return f"pool={self.pool};noise={self.noise:g};trust={self.trust:g}"


@dataclass(frozen=True, slots=True)
class Injected:
    """One injected trace and what it came from."""

    task: Task
    gold: Gold
    fault: HopFault
    depth: int
    base: Trajectory
    trace: Trajectory

    @property
    def changed(self) -> str:
        """What a content fault put in; empty for a structural fault."""
        certificate = self.trace.certificate
        return certificate.edits[0].after if certificate and self.fault.name == "content" else ""

    @property
    def strategy(self) -> str:
        """How its span was chosen."""
        certificate = self.trace.certificate
        return certificate.generator.partition(":")[2] if certificate else ""


class Population:
    """One setting's traces.

    Args:
        cfg: The configuration.
        corpus: The data set.
        tasks: The tasks in use.
        environments: Clean environments over the setting's pool.
        setting: Who runs, over what.
        stores: Folder of the shared stores.
        client: Of a language model that acts, None for the reader.
    """

    def __init__(
        self,
        cfg: DictConfig,
        corpus: LoadedCorpus,
        tasks: Sequence[Task],
        environments: Environments,
        setting: Setting,
        stores: Any,
        client: ChatClient | None = None,
    ) -> None:
        self.cfg, self.corpus, self.tasks, self.setting = cfg, corpus, tuple(tasks), setting
        self.environments = environments
        self.policy = policy_of(cfg, corpus, setting, client)
        self.agent: HopLoop = instantiate(cfg.agent)
        self.folder = stores / "fp" / _key(cfg, corpus, self.agent, setting)
        self._injectors: dict[HopFault, HopInjector] = {}

    def base(self) -> dict[str, Trajectory]:
        """The fault-free traces by task id."""

        def make(task: Task) -> dict[str, object]:
            stages = self.agent.run(task, self.environments.clean(task), self.policy)
            return {"trajectory": self._trajectory(task, "clean", stages, None)}

        found = self._made("base", {self._id(task, "clean"): (task, make) for task in self.tasks})
        return {t.task_id: t for t in found.values() if isinstance(t, Trajectory)}

    def injected(
        self, fault: HopFault, depth: int, base: Mapping[str, Trajectory]
    ) -> tuple[list[Injected], dict[str, int]]:
        """The injected traces of the eligible tasks, and the skipped ones counted by reason."""
        skipped: dict[str, int] = {}
        eligible: dict[str, tuple[Task, Callable[[Task], dict[str, object]]]] = {}
        condition = f"{fault.name};scope={fault.scope};span={fault.span};depth={depth}"

        def make(task: Task) -> dict[str, object]:
            hops = hops_of(base[task.id].stages)
            made = self.inject(task, fault, depth, base[task.id])
            if isinstance(made, Missing):
                return {"skipped": made}
            stages = self.agent.resume(task, made.environment, made.policy, hops[: depth - 1])
            check_prefix(stages, hops, depth, task.id)
            return {"trajectory": self._trajectory(task, condition, stages, made)}

        for task in self.tasks:
            reason = unusable(base[task.id], self.corpus.gold[task.id], depth)
            if reason:
                skipped[reason] = skipped.get(reason, 0) + 1
            else:
                eligible[self._id(task, condition)] = (task, make)
        name = f"{fault.name}-{fault.scope}-{fault.span}-{fault.seed}-{fault.version}"
        outcomes = self._made(name, eligible)
        cases = []
        for identity_, outcome in outcomes.items():
            task = eligible[identity_][0]
            if isinstance(outcome, Missing):
                skipped[str(outcome)] = skipped.get(str(outcome), 0) + 1
            else:
                gold = self.corpus.gold[task.id]
                cases.append(Injected(task, gold, fault, depth, base[task.id], outcome))
        return cases, skipped

    def inject(self, task: Task, fault: HopFault, depth: int, base: Trajectory) -> Injection | Missing:
        """The fault in place, or why it cannot be."""
        injector = self._injectors.setdefault(fault, HopInjector(self.corpus, fault))
        clean = self.environments.clean(task)
        return injector.prepare(task, hops_of(base.stages), depth, clean, self.policy)

    def interventions(self) -> InterventionStore:
        """The setting's store of interventions."""
        return InterventionStore(AppendStore(self.folder / "interventions.jsonl"))

    def case(self, item: Injected, store: InterventionStore) -> Case:
        """An injected trace as a diagnoser sees it, with gold."""
        return self._case(item.task, item.trace, store, lambda: self._scene(item))

    def clean_case(self, task: Task, base: Trajectory, store: InterventionStore) -> Case:
        """A fault-free trace as a diagnoser sees it, with gold."""
        clean = self.environments.clean(task)

        def scene() -> Scene:
            return Scene(base.id, task, base.stages, (), self.agent, self.policy, clean, clean)

        return self._case(task, base, store, scene)

    def _case(
        self, task: Task, trace: Trajectory, store: InterventionStore, scene: Callable[[], Scene]
    ) -> Case:
        ready: list[Scene] = []

        def act(probe: Probe) -> ProbeResult:
            if not ready:  # only where an intervention is not in the store
                ready.append(scene())
            return execute(ready[0], probe)

        hops = hops_of(trace.stages)
        probes: Probes = store.lookup(trace.id, act)
        gold = self.corpus.gold[task.id]
        return Case(trace.id, task.question, hops, trace.answer, support(trace.answer, hops), gold, probes)

    def _scene(self, item: Injected) -> Scene:
        made = self.inject(item.task, item.fault, item.depth, item.base)
        if isinstance(made, Missing):
            raise ConfigError(f"{item.trace.id}: cannot be injected again ({made}); delete {self.folder}")
        hops = hops_of(item.trace.stages)
        hints = tuple(hint for hop in hops for hint in made.environment.hints(hop.index))
        clean = self.environments.clean(item.task)
        stages = item.trace.stages
        return Scene(item.trace.id, item.task, stages, hints, self.agent, self.policy, made.working, clean)

    def _made(
        self, name: str, wanted: Mapping[str, tuple[Task, Callable[[Task], dict[str, object]]]]
    ) -> dict[str, Outcome]:
        store = AppendStore(self.folder / f"{name}.jsonl")
        with exclusive(store.path.with_suffix(".lock")):
            known = store.ids()
            fresh = [(i, make(task)) for i, (task, make) in wanted.items() if i not in known]
            if fresh:
                store.append(fresh)
        return load(store, wanted)

    def _id(self, task: Task, condition: str) -> str:
        return f"{self.corpus.name}/{task.id}/{condition}/0"

    def _trajectory(
        self, task: Task, condition: str, stages: tuple[Stage, ...], made: Injection | None
    ) -> Trajectory:
        return Trajectory(
            id=self._id(task, condition),
            dataset=self.corpus.name,
            task_id=task.id,
            condition=condition,
            sample=0,
            question=task.question,
            stages=stages,
            answer=stages[-1].answer,
            backbone=self.policy.backbone,
            missing=stages[-1].missing,
            certificate=None if made is None else made.certificate,
        )


def settings(cfg: DictConfig) -> Iterator[Setting]:
    """Every pool, trust and noise."""
    if uses_chat(cfg):
        yield from (Setting(pool, None, None) for pool in cfg.fp.pools)
        return
    for pool, noise, trust in product(cfg.fp.pools, cfg.fp.noise, _list(cfg.policy.trust)):
        yield Setting(pool, float(trust), float(noise))


def highest(setting: Setting, every: Sequence[Setting]) -> bool:
    """Whether no other setting has more trust; so for a language model, whose trust is its own."""
    return setting.trust is None or setting.trust == max(s.trust for s in every if s.trust is not None)


def faults(cfg: DictConfig, setting: Setting, every: Sequence[Setting]) -> Iterator[HopFault]:
    """The faults to inject in a setting; those that trust cannot change, at the highest trust only."""
    for name, scope in product(cfg.fp.faults, cfg.fp.scopes):
        if scope == "corpus" and name != "content":
            continue
        if name in ASSERTED or highest(setting, every):
            yield HopFault(name, scope, cfg.fp.span, cfg.seed)


def policy_of(
    cfg: DictConfig, corpus: LoadedCorpus, setting: Setting, client: ChatClient | None = None
) -> Reader | Llm:
    """The reader of a setting, or the language model behind a client."""
    made: Reader | Llm = _settings_of(cfg, setting).build(corpus if client is None else client)
    return made


def _settings_of(cfg: DictConfig, setting: Setting) -> Any:
    if setting.trust is None:
        return instantiate(cfg.policy)
    return instantiate(cfg.policy, trust=setting.trust, noise=setting.noise, seed=cfg.seed)


def unusable(base: Trajectory, gold: Gold, depth: int) -> str:
    """Why a task is not eligible at a depth (paper 2, 3.3); empty if it is."""
    if not right(base.answer, gold):
        return "base_incorrect"
    return "short_trace" if len(hops_of(base.stages)) < depth else ""


def check_prefix(stages: Sequence[Stage], base: Sequence[Stage], depth: int, where: str) -> None:
    """Assert that the hops before the fault are the base trace's, and that the fault is where it should be.

    Raises:
        ConfigError: They differ.
    """
    if tuple(stages[: depth - 1]) != tuple(base[: depth - 1]):
        raise ConfigError(f"{where}: the prefix before hop {depth} is not that of the base trace")


def _list(value: Any) -> list[Any]:
    return list(value) if OmegaConf.is_list(value) else [value]


def _key(cfg: DictConfig, corpus: LoadedCorpus, agent: HopLoop, setting: Setting) -> str:
    """Everything that a trace of the setting depends on, besides the fault in its store's name."""
    dense = bool(cfg.retrieval.needs_embedder)
    retrieval = OmegaConf.to_container(cfg.retrieval, resolve=True)
    assert isinstance(retrieval, dict)
    retrieval["pool"] = setting.pool
    policy = _settings_of(cfg, setting)
    return key_of(
        {
            "corpus": [corpus.name, corpus.version, corpus.digest],
            "retrieval": [retrieval, get_object(cfg.retrieval.index._target_).version],
            "embedder": [identity(cfg.embedder), str(cfg.trainer.precision)] if dense else None,
            "policy": describe(policy),
            "agent": describe(agent),
        },
        24,
    )

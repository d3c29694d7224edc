"""A small synthetic world with its hop-loop runs, for tests of what acts on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from faultline.agents.hop_loop import HopLoop, hops_of
from faultline.corpora.synthetic import Synthetic
from faultline.errors import Missing
from faultline.faults.hops import HopFault, HopInjector, Injection
from faultline.interventions.execute import Scene
from faultline.policies.reader import Reader, ReaderSettings
from faultline.records import LoadedCorpus, Stage, Task
from faultline.retrieval.bm25 import Bm25
from faultline.retrieval.environment import Environments


@dataclass(frozen=True)
class World:
    corpus: LoadedCorpus
    environments: Environments
    policy: Reader
    agent: HopLoop
    base: dict[str, tuple[Stage, ...]]

    def tasks(self, hops: int) -> list[Task]:
        return [t for t in self.corpus.tasks if len(self.corpus.gold[t.id].hops) == hops]

    def answer(self, task: Task) -> str:
        return self.corpus.gold[task.id].answers[0]

    def inject(self, task: Task, hop: int, fault: HopFault) -> tuple[Injection, tuple[Stage, ...]] | Missing:
        clean = self.environments.clean(task)
        base = hops_of(self.base[task.id])
        made = HopInjector(self.corpus, fault).prepare(task, base, hop, clean, self.policy)
        if isinstance(made, Missing):
            return made
        return made, self.agent.resume(task, made.environment, made.policy, base[: hop - 1])

    def scene(self, task: Task, made: Injection, stages: tuple[Stage, ...], name: str = "t") -> Scene:
        hints = tuple(h for stage in hops_of(stages) for h in made.environment.hints(stage.index))
        clean = self.environments.clean(task)
        return Scene(name, task, stages, hints, self.agent, self.policy, made.working, clean)


@cache
def world(answer_from: str = "chain", per_kind: int = 12, noise: float = 0.0, trust: float = 1.0) -> World:
    kinds = {f"{hops}hop": per_kind for hops in range(2, 7)}
    corpus = Synthetic(questions=kinds).load()
    environments = Environments(corpus, Bm25())
    policy = ReaderSettings(trust=trust, noise=noise).build(corpus)
    agent = HopLoop(7, 5, answer_from)
    base = {t.id: agent.run(t, environments.clean(t), policy) for t in corpus.tasks}
    return World(corpus, environments, policy, agent, base)

"""The synthetic world as a data set."""

from __future__ import annotations

from collections.abc import Mapping

from faultline.corpora.digest import corpus_digest
from faultline.corpora.synthetic.passages import write_passage
from faultline.corpora.synthetic.pools import question_pool
from faultline.corpora.synthetic.questions import ask
from faultline.corpora.synthetic.world import build_world
from faultline.errors import ConfigError
from faultline.records import Gold, LoadedCorpus, Task
from faultline.stats import generator

DEFAULT_QUESTIONS: Mapping[str, int] = {
    "2hop": 120,
    "comparison": 40,
    "3hop": 40,
    "4hop": 40,
    "5hop": 40,
    "6hop": 40,
}


class Synthetic:
    """A seeded fictional world with multi-hop questions over it.

    The world (entities, facts, passages) depends on the seed only; question i of a kind depends on the seed,
    the kind, its number and the ones before it, so asking for more questions leaves the first ones unchanged.

    Args:
        seed: Of everything.
        questions: Number of questions by kind (``2hop`` to ``6hop``, ``comparison``); default
            ``DEFAULT_QUESTIONS``.
        pool_size: Passages in the pool of each question. The pool ``world`` holds every passage.
    """

    name = "synthetic"
    version = 1

    def __init__(
        self, seed: int = 0, questions: Mapping[str, int] | None = None, pool_size: int = 10
    ) -> None:
        self.seed = seed
        self.questions = dict(DEFAULT_QUESTIONS if questions is None else questions)
        self.pool_size = pool_size
        for kind, count in self.questions.items():
            if kind not in DEFAULT_QUESTIONS:
                raise ConfigError(
                    f"synthetic: unknown kind {kind!r} in questions; use {', '.join(DEFAULT_QUESTIONS)}"
                )
            if count < 0:
                raise ConfigError(f"synthetic: questions.{kind} is {count}; use 0 or more")

    def load(self) -> LoadedCorpus:
        """Generate everything; the same settings give the same digest.

        Raises:
            ConfigError: More questions than the world has, or a pool too small for the supporting passages.
        """
        world = build_world(self.seed)
        written = {i: write_passage(world, entity, self.seed) for i, entity in world.entities.items()}
        passages = {i: record.passage for i, record in written.items()}
        pools: dict[str, tuple[str, ...]] = {"world": tuple(passages)}
        tasks: list[Task] = []
        gold: dict[str, Gold] = {}
        for kind, count in self.questions.items():
            taken: set[str] = set()
            for index in range(count):
                asked = ask(world, written, self.seed, kind, index, taken)
                task_id = f"synthetic-{kind}-{index:06d}"
                rng = generator(self.seed, "synthetic", "pool", kind, index)
                pools[task_id] = question_pool(world, written, asked, self.pool_size, rng)
                tasks.append(Task(task_id, asked.question, task_id))
                support = tuple(hop.passage_id for hop in asked.hops if hop.passage_id)
                gold[task_id] = Gold(
                    task_id, asked.answers, asked.hops, support, asked.question_type, asked.answer_hop
                )
        digest = corpus_digest(tasks, gold, passages, pools)
        return LoadedCorpus(self.name, self.version, tuple(tasks), gold, passages, pools, digest)

"""What an agent calls: one retriever over one pool. Faults wrap it (see ``faultline.faults``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from faultline.errors import ConfigError
from faultline.records import Hint, Hit, LoadedCorpus, Passage, Retriever, Task

POOLS = ("question", "all")


class IndexBuilder(Protocol):
    """Makes a retriever over passages."""

    version: int

    def index(self, passages: Sequence[Passage]) -> Retriever:
        """Index a pool."""
        ...


class PlainEnvironment:
    """The pool as it is; implements :class:`faultline.records.Environment`."""

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever

    def search(self, query: str, k: int, stage: int) -> tuple[Hit, ...]:
        """Retrieve; the stage makes no difference here."""
        return self.retriever.search(query, k)

    def hints(self, stage: int) -> tuple[Hint, ...]:
        """No assertions."""
        return ()


class Environments:
    """The clean environment of each task.

    Args:
        corpus: The whole data set.
        builder: Makes the indexes.
        pool: ``question`` (each question's own passages) or ``all`` (every passage of the data set).
    """

    def __init__(self, corpus: LoadedCorpus, builder: IndexBuilder, pool: str = "question") -> None:
        if pool not in POOLS:
            raise ConfigError(f"retrieval.pool={pool}: choose one of {', '.join(POOLS)}")
        self._corpus, self._builder, self._pool = corpus, builder, pool
        self._indexes: dict[str, Retriever] = {}

    def clean(self, task: Task) -> PlainEnvironment:
        """The environment of a task, index shared between tasks that share a pool."""
        name = "all" if self._pool == "all" else task.corpus_ref
        if name not in self._indexes:
            ids = sorted(self._corpus.passages) if self._pool == "all" else self._corpus.pools[name]
            self._indexes[name] = self._builder.index([self._corpus.passages[i] for i in ids])
        return PlainEnvironment(self._indexes[name])

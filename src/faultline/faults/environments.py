"""Environments with a changed passage: in one call, or in the corpus itself."""

from __future__ import annotations

from dataclasses import replace

from faultline.records import Environment, Hint, Hit, Passage, Retriever


class CallFault:
    """One retrieval, at one stage, returns the changed passage in place of the original.

    Args:
        inner: The clean environment.
        stage: 1-based stage whose retrieval is hit.
        passage: The changed passage; its id is that of the original.
    """

    def __init__(self, inner: Environment, stage: int, passage: Passage) -> None:
        self._inner, self._stage, self._passage = inner, stage, passage

    def search(self, query: str, k: int, stage: int) -> tuple[Hit, ...]:
        """Retrieve, then put the changed passage where the original stands (this stage only)."""
        hits = self._inner.search(query, k, stage)
        if stage != self._stage:
            return hits
        return tuple(
            replace(h, passage=self._passage) if h.passage.id == self._passage.id else h for h in hits
        )

    def hints(self, stage: int) -> tuple[Hint, ...]:
        """Those of the clean environment."""
        return self._inner.hints(stage)


class CorpusFault:
    """The index itself holds the changed passage: every retrieval, and every re-retrieval, meets it.

    Args:
        inner: The clean environment, for its hints.
        index: The clean index; it is not changed.
        passage: The changed passage; its id is that of the original.
    """

    def __init__(self, inner: Environment, index: Retriever, passage: Passage) -> None:
        self._inner = inner
        self._index = index.replaced(passage)

    def search(self, query: str, k: int, stage: int) -> tuple[Hit, ...]:
        """Retrieve from the changed index."""
        return self._index.search(query, k)

    def hints(self, stage: int) -> tuple[Hint, ...]:
        """Those of the clean environment."""
        return self._inner.hints(stage)


class PoisonedIndex:
    """The index holds one passage more than the clean one: every retrieval may meet it.

    Args:
        inner: The clean environment, for its hints.
        index: The clean index; it is not changed, so no other question's run meets the passage.
        passage: The passage that is put in.
    """

    def __init__(self, inner: Environment, index: Retriever, passage: Passage) -> None:
        self._inner = inner
        self._index = index.added(passage)

    def search(self, query: str, k: int, stage: int) -> tuple[Hit, ...]:
        """Retrieve from the poisoned index."""
        return self._index.search(query, k)

    def hints(self, stage: int) -> tuple[Hint, ...]:
        """Those of the clean environment."""
        return self._inner.hints(stage)


class CuedContext:
    """One stage's context holds assertions beside what was retrieved.

    Args:
        inner: The clean environment.
        stage: 1-based stage whose context they stand in.
        cues: The assertions.
    """

    def __init__(self, inner: Environment, stage: int, cues: tuple[Hint, ...]) -> None:
        self._inner, self._stage, self._cues = inner, stage, cues

    def search(self, query: str, k: int, stage: int) -> tuple[Hit, ...]:
        """Retrieve; the evidence is clean."""
        return self._inner.search(query, k, stage)

    def hints(self, stage: int) -> tuple[Hint, ...]:
        """The cues at their stage, those of the clean environment everywhere."""
        known = self._inner.hints(stage)
        return (*known, *self._cues) if stage == self._stage else known

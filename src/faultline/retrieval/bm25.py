"""BM25 through bm25s (Lucene's variant, k1 = 1.5, b = .75, English stop words, no stemming)."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import numpy as np

from faultline.records import Hit, Passage
from faultline.retrieval.ranking import ranked


class Bm25:
    """Builds BM25 indexes.

    Args:
        k1: Term saturation.
        b: Length normalisation.
    """

    version = 1

    def __init__(self, k1: float = 1.5, b: float = 0.75) -> None:
        self.k1 = k1
        self.b = b

    def index(self, passages: Sequence[Passage]) -> Bm25Index:
        """Index title and text of each passage."""
        return Bm25Index(tuple(passages), self.k1, self.b)


class Bm25Index:
    """One indexed pool; implements :class:`faultline.records.Retriever`."""

    def __init__(self, passages: tuple[Passage, ...], k1: float, b: float) -> None:
        self._passages = passages
        self._k1, self._b = k1, b
        self._engine: bm25s.BM25 | None = None

    def search(self, query: str, k: int) -> tuple[Hit, ...]:
        """The k best passages; a query without any known word ranks all equal, by id."""
        words = _tokens([query])[0]
        engine = self._built()
        known = [] if engine is None else [word for word in words if word in engine.vocab_dict]
        if engine is None or not known:
            return ranked(self._passages, np.zeros(len(self._passages)), k)
        return ranked(self._passages, engine.get_scores(known), k)

    def replaced(self, passage: Passage) -> Bm25Index:
        """A new index in which the passage with this id has another text."""
        return Bm25Index(
            tuple(passage if p.id == passage.id else p for p in self._passages), self._k1, self._b
        )

    def added(self, passage: Passage) -> Bm25Index:
        """A new index with one passage more."""
        return Bm25Index((*self._passages, passage), self._k1, self._b)

    def _built(self) -> bm25s.BM25 | None:
        """The engine; None for a pool without any word, which bm25s cannot index."""
        if self._engine is None:
            tokens = _tokens([p.rendered for p in self._passages])
            if any(tokens):
                self._engine = bm25s.BM25(method="lucene", k1=self._k1, b=self._b)
                self._engine.index(tokens, show_progress=False)
        return self._engine


def _tokens(texts: list[str]) -> list[list[str]]:
    tokens: list[list[str]] = bm25s.tokenize(texts, stopwords="en", return_ids=False, show_progress=False)
    return tokens

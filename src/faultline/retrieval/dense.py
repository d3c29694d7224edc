"""Dense retrieval: cosine over unit embeddings, exact inner product in FAISS."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import faiss
import numpy as np
import numpy.typing as npt

from faultline.records import Embedder, Hit, Passage
from faultline.retrieval.ranking import ranked

Vectors = npt.NDArray[np.float32]


class Dense:
    """Builds dense indexes over one embedder.

    Args:
        embedder: A ready embedder, or a function that makes one on first use.
    """

    version = 1

    def __init__(self, embedder: Embedder | Callable[[], Embedder]) -> None:
        self._given = embedder
        self._ready: Embedder | None = None
        self._known: dict[str, Vectors] = {}

    def index(self, passages: Sequence[Passage]) -> DenseIndex:
        """Index title and text of each passage; a text that was embedded before is not embedded again."""
        return DenseIndex(self, tuple(passages))

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Unit rows for texts, shape (n, d)."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._known]
        if fresh:
            self._known.update(zip(fresh, self._embedder().encode(fresh), strict=True))
        return np.stack([self._known[text] for text in texts])

    def _embedder(self) -> Embedder:
        if self._ready is None:
            given = self._given
            self._ready = given() if callable(given) else given
        return self._ready


class DenseIndex:
    """One indexed pool; implements :class:`faultline.records.Retriever`."""

    def __init__(self, family: Dense, passages: tuple[Passage, ...]) -> None:
        self._family = family
        self._passages = passages
        self._engine: faiss.IndexFlatIP | None = None

    def search(self, query: str, k: int) -> tuple[Hit, ...]:
        """The k nearest passages by cosine."""
        scores, places = self._built().search(self._family.vectors([query]), len(self._passages))
        by_place = np.empty(len(self._passages), dtype=np.float64)
        by_place[places[0]] = scores[0]
        return ranked(self._passages, by_place, k)

    def replaced(self, passage: Passage) -> DenseIndex:
        """A new index in which the passage with this id has another text (and another vector)."""
        return DenseIndex(self._family, tuple(passage if p.id == passage.id else p for p in self._passages))

    def added(self, passage: Passage) -> DenseIndex:
        """A new index with one passage more."""
        return DenseIndex(self._family, (*self._passages, passage))

    def _built(self) -> faiss.IndexFlatIP:
        if self._engine is None:
            matrix = self._family.vectors([p.rendered for p in self._passages])
            self._engine = faiss.IndexFlatIP(matrix.shape[1])
            self._engine.add(matrix)
        return self._engine

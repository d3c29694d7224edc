"""Context poisoning (paper 1, VI-B): an adversarial passage is put in the knowledge base.

The passage is a near copy of the one that answers the first retrieval, with a wrong value in it. A
gradient-free search changes its wording so that it comes close to the query in an embedding space; it counts
only if the retriever that is attacked really returns it. What the search took and reached stands in the
certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from faultline.corpora.donors import Donors
from faultline.corpora.spans import mentions
from faultline.errors import ConfigError, Missing
from faultline.faults.environments import PoisonedIndex
from faultline.faults.retrieval import swap
from faultline.faults.site import Site, carried, forbidden
from faultline.policies.alignment import is_near_copy
from faultline.records import Certificate, Edit, Embedder, LoadedCorpus, Passage, Prepared, Scope
from faultline.stats import generator

STAGE = 1
VARIANTS = ("proximal", "evasive")
WIDTH = 4
"""Candidates a round: they are embedded together."""
NEAR_COPY = 0.6
"""Least word similarity to the original: the passage must still pass for a version of it."""


@dataclass(frozen=True, slots=True)
class PoisoningFault:
    """Settings of the fault.

    Attributes:
        variant: ``proximal`` (nearest to the query), or ``evasive`` (VII-D: no candidate whose cosine to the
            original passage is below ``least_cosine``, so that drift between stages stays small).
        budget: Candidates that are tried, at least 1.
        least_cosine: Of ``evasive``, in [-1, 1].
        scope: ``corpus``.
        seed: Of donors and search.
    """

    generator: str = "embedding_search"
    variant: str = "proximal"
    budget: int = 12
    least_cosine: float = 0.95
    scope: Scope = "corpus"
    seed: int = 0
    name: str = "poisoning"
    cascade_type: str = "poisoning"
    needs_embedder: bool = True
    version: int = 1

    def __post_init__(self) -> None:
        if self.generator != "embedding_search":
            raise ConfigError(f"faults.generator={self.generator}: choose embedding_search")
        if self.variant not in VARIANTS:
            raise ConfigError(f"faults.variant={self.variant}: choose one of {', '.join(VARIANTS)}")
        if self.budget < 1:
            raise ConfigError(f"faults.budget={self.budget}: must be at least 1")
        if not -1.0 <= self.least_cosine <= 1.0:
            raise ConfigError(f"faults.least_cosine={self.least_cosine}: must be between -1 and 1")
        if self.scope != "corpus":
            raise ConfigError(f"faults.scope={self.scope}: choose corpus")

    def build(self, corpus: LoadedCorpus, embedder: Callable[[], Embedder]) -> Poisoner:
        """What injects it."""
        return Poisoner(corpus, self, embedder)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that was tried: its cosine to the query, and to the original passage."""

    passage: Passage
    to_query: float
    to_original: float


class Poisoner:
    """Injects :class:`PoisoningFault`. Needs gold, to know the span.

    Args:
        corpus: The data set.
        fault: Settings.
        embedder: The attacker's embedder.
    """

    needs_gold = True

    def __init__(self, corpus: LoadedCorpus, fault: PoisoningFault, embedder: Callable[[], Embedder]) -> None:
        self.fault = fault
        self._corpus, self._embedder = corpus, embedder
        self._donors = Donors(corpus)

    def inject(self, site: Site) -> Prepared | Missing:
        """The poisoned index.

        Returns:
            ``no_span`` if the top-1 passage carries no span of the plan, ``no_donor`` if no value of the kind
            fits, ``no_change`` if the value cannot be replaced, ``not_retrieved`` if no candidate within the
            budget enters the retriever's top k.
        """
        query = site.first_query
        hits = site.clean.search(query, site.top_k, STAGE)
        hop = carried(self._corpus.gold[site.task.id], hits)
        if hop is None:
            return Missing.NO_SPAN
        original = hits[0].passage
        rng = generator(self.fault.seed, site.task.id, self.fault.name, STAGE, "search", site.sample)
        donor = self._donors.pick(hop.kind, hop.answer, forbidden(self._corpus, site.task), site.task.id, rng)
        if donor is None:
            return Missing.NO_DONOR
        changed, edits = swap(original, hop.answer, donor.value)
        if not edits:
            return Missing.NO_CHANGE
        start = Passage(f"poison:{site.task.id}", changed.title, changed.sentences)
        tried = self._search(start, original, query, donor.value, rng)
        for candidate in sorted(tried, key=lambda c: -c.to_query):
            environment = PoisonedIndex(site.clean, site.clean.retriever, candidate.passage)
            found = environment.search(query, site.top_k, STAGE)
            rank = next((h.rank for h in found if h.passage.id == start.id), None)
            if rank is not None:
                return Prepared(environment, self._certificate(candidate, rank, len(tried), donor.task_id))
        return Missing.NOT_RETRIEVED

    def _search(
        self, start: Passage, original: Passage, query: str, value: str, rng: np.random.Generator
    ) -> list[Candidate]:
        """Hill climbing over rewordings: rounds of :data:`WIDTH` changes of the best passage so far."""
        tried = self._embedded([start], original, query)
        best = tried[0]
        seen = {start.rendered}
        while len(tried) < self.fault.budget:
            width = min(WIDTH, self.fault.budget - len(tried))
            made = (_reworded(best.passage, query, value, rng) for _ in range(4 * WIDTH))
            fresh: list[Passage] = []
            for passage in made:
                allowed = is_near_copy(original.text, passage.text, NEAR_COPY) and mentions(
                    passage.text, value
                )
                if allowed and passage.rendered not in seen and len(fresh) < width:
                    seen.add(passage.rendered)
                    fresh.append(passage)
            if not fresh:
                break
            scored = self._embedded(fresh, original, query)
            tried += scored
            usable = [c for c in scored if self._usable(c)]
            best = max([best, *usable], key=lambda c: c.to_query)
        return [c for c in tried if self._usable(c)]

    def _usable(self, candidate: Candidate) -> bool:
        return self.fault.variant == "proximal" or candidate.to_original >= self.fault.least_cosine

    def _embedded(self, passages: Sequence[Passage], original: Passage, query: str) -> list[Candidate]:
        rows = self._embedder().encode([query, original.rendered, *(p.rendered for p in passages)])
        wide = rows.astype(np.float64)
        return [
            Candidate(p, float(np.sum(row * wide[0])), float(np.sum(row * wide[1])))
            for p, row in zip(passages, wide[2:], strict=True)
        ]

    def _certificate(self, found: Candidate, rank: int, tried: int, donor: str) -> Certificate:
        return Certificate(
            fault=self.fault.name,
            cascade_type=self.fault.cascade_type,
            scope=self.fault.scope,
            stage=STAGE,
            target=found.passage.id,
            edits=(Edit("index", 0, 0, "", found.passage.rendered),),
            generator=f"{self.fault.generator}:{self.fault.variant}@{self.fault.version}",
            donor=donor,
            search=(
                ("budget", float(self.fault.budget)),
                ("usable", float(tried)),
                ("cosine_query", round(found.to_query, 4)),
                ("cosine_original", round(found.to_original, 4)),
                ("rank", float(rank)),
            ),
        )


def _reworded(passage: Passage, query: str, value: str, rng: np.random.Generator) -> Passage:
    """One random change that keeps the value: query words in front, a sentence dropped or moved ahead."""
    sentences = list(passage.sentences) or [""]
    carrying = [i for i, s in enumerate(sentences) if mentions(s, value)]
    move = int(rng.integers(4))
    if move == 0:
        sentences[0] = f"{query} {sentences[0].lstrip()}"
    elif move == 1:
        words = query.rstrip("?").split()
        begin = int(rng.integers(len(words)))
        sentences[0] = f"{' '.join(words[begin:])}: {sentences[0].lstrip()}"
    elif move == 2 and len(sentences) > 1:
        droppable = [i for i in range(len(sentences)) if i not in carrying]
        if droppable:
            del sentences[droppable[int(rng.integers(len(droppable)))]]
    elif carrying:
        sentences.insert(0, sentences.pop(carrying[0]).strip() + " ")
    return Passage(passage.id, passage.title, tuple(sentences))

"""Retrieval cascade (paper 1, VI-B): the top-1 document is replaced by a close but false one.

Generator ``span_swap``: in the top-1 passage of the first retrieval, the answer or bridge span is
replaced, whole words and every occurrence, by a value of the same kind from another example.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from faultline.corpora.donors import Donors
from faultline.corpora.spans import occurrences
from faultline.errors import ConfigError, Missing
from faultline.faults.environments import CallFault, CorpusFault
from faultline.faults.site import Site, carried, forbidden
from faultline.records import Certificate, Edit, Embedder, LoadedCorpus, Passage, Prepared, Scope, Stage, Task
from faultline.retrieval.environment import PlainEnvironment
from faultline.stats import generator

STAGE = 1
"""The fault enters with the first retrieval."""


@dataclass(frozen=True, slots=True)
class RetrievalFault:
    """Settings of the fault.

    Attributes:
        generator: ``span_swap``.
        scope: ``call`` (the first retrieval only; a re-retrieval heals) or ``corpus`` (the index itself).
        seed: Of the donors.
    """

    generator: str = "span_swap"
    scope: Scope = "call"
    seed: int = 0
    name: str = "retrieval"
    cascade_type: str = "retrieval"
    version: int = 1

    def __post_init__(self) -> None:
        if self.generator != "span_swap":
            raise ConfigError(f"faults.generator={self.generator}: choose span_swap")
        if self.scope not in ("call", "corpus"):
            raise ConfigError(f"faults.scope={self.scope}: choose call or corpus")

    def build(self, corpus: LoadedCorpus, embedder: Callable[[], Embedder]) -> SpanSwap:
        """What injects it; it needs no embedder."""
        return SpanSwap(corpus, self)


class SpanSwap:
    """Injects :class:`RetrievalFault` into the environments of one data set. Needs gold, to know the spans.

    Args:
        corpus: The data set.
        fault: Settings.
    """

    needs_gold = True

    def __init__(self, corpus: LoadedCorpus, fault: RetrievalFault) -> None:
        self.fault = fault
        self._corpus = corpus
        self._donors = Donors(corpus)

    def inject(self, site: Site) -> Prepared | Missing:
        """As :meth:`prepare`, at a site."""
        return self.prepare(site.task, site.clean, site.first_query, site.top_k, site.sample)

    def prepare(
        self, task: Task, clean: PlainEnvironment, query: str, top_k: int, sample: int = 0
    ) -> Prepared | Missing:
        """The environment with the fault in it, or why there is none.

        Args:
            task: The task.
            clean: Its clean environment.
            query: The first retrieval's query.
            top_k: Passages a retrieval returns.
            sample: Repeats take other donors.

        Returns:
            ``no_span`` if the top-1 passage carries no span of the plan, ``no_donor`` if no value of
            the kind fits, ``no_change`` if the corrupted index no longer returns the passage. A run that
            searches for something else may still miss the fault: ``met`` of the result says so afterwards.
        """
        hits = clean.search(query, top_k, STAGE)
        gold = self._corpus.gold[task.id]
        hop = carried(gold, hits)
        if hop is None:
            return Missing.NO_SPAN
        original = hits[0].passage
        rng = generator(self.fault.seed, task.id, self.fault.name, STAGE, "donor", sample)
        donor = self._donors.pick(hop.kind, hop.answer, forbidden(self._corpus, task), task.id, rng)
        if donor is None:
            return Missing.NO_DONOR
        changed, edits = swap(original, hop.answer, donor.value)
        if not edits:
            return Missing.NO_CHANGE
        if self.fault.scope == "call":
            environment: CallFault | CorpusFault = CallFault(clean, STAGE, changed)
        else:
            environment = CorpusFault(clean, clean.retriever, changed)
        if changed not in [hit.passage for hit in environment.search(query, top_k, STAGE)]:
            return Missing.NO_CHANGE
        certificate = self._certificate(original, edits, donor.task_id)
        return Prepared(environment, certificate, partial(retrieved, changed))

    def _certificate(self, original: Passage, edits: tuple[Edit, ...], donor: str) -> Certificate:
        return Certificate(
            fault=self.fault.name,
            cascade_type=self.fault.cascade_type,
            scope=self.fault.scope,
            stage=STAGE,
            target=original.id,
            edits=edits,
            generator=f"{self.fault.generator}@{self.fault.version}",
            donor=donor,
        )


def retrieved(passage: Passage, stages: tuple[Stage, ...]) -> bool:
    """Whether a changed passage came back in any retrieval of a run."""
    return any(hit.passage == passage for stage in stages for hit in stage.hits)


def swap(passage: Passage, value: str, replacement: str) -> tuple[Passage, tuple[Edit, ...]]:
    """Replace every whole-word occurrence of a value in title and sentences.

    Returns:
        The changed passage (same id) and the edits; offsets are those in the original field.
    """
    edits: list[Edit] = []
    title = _replaced(passage.title, value, replacement, "title", edits)
    sentences = tuple(
        _replaced(sentence, value, replacement, f"sentences[{number}]", edits)
        for number, sentence in enumerate(passage.sentences)
    )
    return Passage(passage.id, title, sentences), tuple(edits)


def restore(passage: Passage, edits: tuple[Edit, ...]) -> Passage:
    """Undo the edits of a certificate: the original passage, byte for byte."""
    fields = {"title": passage.title, **{f"sentences[{i}]": s for i, s in enumerate(passage.sentences)}}
    for edit in sorted(edits, key=lambda e: e.start):  # earlier places first: then the offsets hold again
        text, end = fields[edit.where], edit.start + len(edit.after)
        if text[edit.start : end] != edit.after:
            raise ValueError(f"{edit.where} at {edit.start}: does not hold {edit.after!r}")
        fields[edit.where] = text[: edit.start] + edit.before + text[end:]
    sentences = tuple(fields[f"sentences[{i}]"] for i in range(len(passage.sentences)))
    return Passage(passage.id, fields["title"], sentences)


def _replaced(text: str, value: str, replacement: str, where: str, edits: list[Edit]) -> str:
    spans = occurrences(text, value)
    for start, end in spans:
        edits.append(Edit(where, start, end, text[start:end], replacement))
    for start, end in reversed(spans):
        text = text[:start] + replacement + text[end:]
    return text

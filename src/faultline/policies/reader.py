"""The reader: an instrument for controlled studies, without a language model.

It follows the annotated plan and reads, in the passage it was given, what stands where the answer
stands in the original of that passage. It never sees a certificate, and no gold string reaches its
answer. What it believes is explicit, because that decides the results: ``trust`` is the chance to
follow an assertion in its context.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from faultline.corpora.donors import Donors
from faultline.corpora.spans import mentions, sentence_at
from faultline.errors import ConfigError, Missing
from faultline.policies import wording
from faultline.policies.alignment import aligned_value, is_near_copy
from faultline.policies.comparison import compare
from faultline.records import Action, ActionKind, Gold, Hit, Hop, LoadedCorpus, Passage, State
from faultline.stats import generator

NEAR_COPY = 0.6
"""Least word similarity at which another passage counts as a copy of the one that was annotated."""


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """What the reader believes and how well it sees.

    Attributes:
        trust: Chance to follow an assertion in its context, in [0, 1].
        entity_check: Read a passage only if it mentions the entity of the query.
        noise: Chance that a reading is replaced by another value of its kind.
        hedge_margins: Retrieval margins below which a reading is ``possibly`` and ``probably`` so.
        seed: Of trust and noise.
        version: Bumped when the reader's behaviour or wording changes.
    """

    trust: float = 1.0
    entity_check: bool = True
    noise: float = 0.0
    hedge_margins: tuple[float, float] = (0.1, 0.3)
    seed: int = 0
    version: int = 2

    def __post_init__(self) -> None:
        for name in ("trust", "noise"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"policy.{name}={getattr(self, name)}: must be between 0 and 1")

    def build(self, corpus: LoadedCorpus) -> Reader:
        """The reader of one data set."""
        return Reader(corpus, self)


class Reader:
    """Implements :class:`faultline.records.Policy` over the annotation of one data set.

    Args:
        corpus: The data set whose plans it follows.
        settings: Susceptibilities.
    """

    backbone = "reader"
    needs_gold = True

    def __init__(self, corpus: LoadedCorpus, settings: ReaderSettings) -> None:
        self.settings = settings
        self._corpus = corpus
        self._donors = Donors(corpus) if settings.noise > 0 else None

    def act(self, kind: ActionKind, state: State) -> Action:
        """One action.

        Raises:
            ConfigError: The task has no annotated plan.
        """
        gold = self._corpus.gold[state.task.id]
        if not gold.hops:
            raise ConfigError(
                f"policy=reader: question {state.task.id} has no annotated hops; use policy=llm"
            )
        if kind == "conclude":
            return self._conclude(gold, state)
        if state.hop > len(gold.hops):
            return Action(kind, wording.nothing_more(), missing=Missing.NOT_APPLICABLE)
        hop = gold.hops[state.hop - 1]
        if kind == "query":
            return Action("query", _filled(hop.query, state) or state.question)
        if kind == "reason":
            return Action("reason", wording.next_step(state.notes, state.question))
        return self._read(hop, state, final=state.hop == len(gold.hops))

    def _read(self, hop: Hop, state: State, *, final: bool) -> Action:
        hint = next((h for h in reversed(state.hints) if h.hop == state.hop), None)
        if hint is not None and self._draw("trust", state) < self.settings.trust:
            if not hint.value:  # a denial: the assertion says that nothing stands there
                return Action("read", wording.denied(hint.text), missing=Missing.NO_SPAN)
            text = wording.following(hint.text, hint.value, final=final)
            return Action("read", text, hint.value, confidence=0.9)
        entity = _filled(hop.entity, state)
        if hop.span is None or hop.passage_id is None or entity is None:
            return Action("read", wording.not_found(entity), missing=Missing.NO_SPAN)
        original = self._corpus.passages[hop.passage_id]
        hit = next(self._copies(original, state), None)
        if hit is None:
            return Action("read", wording.not_found(entity), missing=Missing.NO_PASSAGE)
        if self.settings.entity_check and entity and not mentions(hit.passage.rendered, entity):
            return Action("read", wording.not_found(entity), missing=Missing.NO_SPAN)
        value = aligned_value(original.text, hop.span, hit.passage.text)
        if value is None:
            return Action("read", wording.not_found(entity), missing=Missing.NO_SPAN)
        sentence = _sentence(hit.passage, value)
        value = self._noisy(value, hop, state)
        confidence, hedge = self._certainty(hit, state)
        text = wording.reading(hit.passage.title, sentence, value, hedge, final=final)
        return Action("read", text, value, confidence, source=hit.passage.content_hash)

    def _copies(self, original: Passage, state: State) -> Iterator[Hit]:
        """Copies of a passage in the union of the evidence, latest retrieval first, best rank first."""
        for hits in reversed(state.evidence):
            for hit in hits:
                same = hit.passage.id == original.id
                if same or is_near_copy(original.text, hit.passage.text, NEAR_COPY):
                    yield hit

    def _conclude(self, gold: Gold, state: State) -> Action:
        if len(state.notes) < len(gold.hops):
            return Action("conclude", wording.no_answer(), missing=Missing.PLAN_TOO_LONG)
        known = gold.answer_hop
        answer = compare(gold, state.notes) if known is None else state.notes[known - 1]
        if answer is None:
            return Action("conclude", wording.no_answer(), missing=Missing.NO_SPAN)
        return Action("conclude", wording.conclusion(state.notes, state.thoughts, answer), answer, 0.9)

    def _certainty(self, hit: Hit, state: State) -> tuple[float, str]:
        """Confidence and hedge from the margin of what was read over the best other passage."""
        hits = next(hits for hits in reversed(state.evidence) if hit in hits)
        others = [h.score for h in hits if h is not hit]
        best = max(others, default=0.0)
        scale = max(abs(hit.score), abs(best), 1e-9)
        margin = (hit.score - best) / scale if others else 1.0
        low, high = self.settings.hedge_margins
        if margin < low:
            return 0.5, "possibly"
        return (0.7, "probably") if margin < high else (0.9, "")

    def _noisy(self, value: str, hop: Hop, state: State) -> str:
        if self._donors is None or self._draw("noise", state) >= self.settings.noise:
            return value
        rng = generator(self.settings.seed, state.task.id, "noise-donor", state.hop, state.sample)
        donor = self._donors.pick(hop.kind, value, value, state.task.id, rng)
        return value if donor is None else donor.value

    def _draw(self, what: str, state: State) -> float:
        key = (self.settings.seed, state.task.id, what, state.hop, state.sample)
        return float(generator(*key).random())


def _filled(template: str, state: State) -> str | None:
    """A query or entity with what was read put in; None where nothing was read."""
    filled = template
    for number, note in enumerate(state.notes, start=1):
        if f"#{number}" in filled:
            if note is None:
                return None
            filled = filled.replace(f"#{number}", note)
    return filled


def _sentence(passage: Passage, value: str) -> str:
    place = passage.text.find(value)
    return sentence_at(passage, place if place >= 0 else 0)

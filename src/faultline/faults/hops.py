"""Faults at one hop of a hop-loop trace (paper 2, section 3): settings, injection, certificate.

Structural: ``empty``, ``irrelevant``, ``false_premise``, ``stale``, ``drift``, ``early_termination``.
Content: one fact changed in evidence that is otherwise intact (``content``). The prefix is the base trace's;
the agent resumes at the hop of the fault.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultline.corpora.donors import Donors
from faultline.errors import ConfigError, Missing
from faultline.faults.content import Change, choose_span, replacement_of
from faultline.faults.environments import CorpusFault
from faultline.faults.hop_environments import DriftedPolicy, FaultyHits, StoppedPolicy
from faultline.faults.retrieval import swap
from faultline.records import (
    Certificate,
    Edit,
    Environment,
    Hint,
    Hit,
    LoadedCorpus,
    Passage,
    Policy,
    Scope,
    Stage,
    Task,
)
from faultline.retrieval.environment import PlainEnvironment
from faultline.stats import generator

STRUCTURAL = ("empty", "irrelevant", "false_premise", "stale", "drift", "early_termination")
NAMES = (*STRUCTURAL, "content")
SPANS = ("paper", "hop_fact")


@dataclass(frozen=True, slots=True)
class HopFault:
    """Settings of a fault.

    Attributes:
        name: One of ``NAMES``.
        scope: ``call`` (this retrieval only; a re-retrieval heals) or, for ``content``, ``corpus`` (from this
            hop on the index itself holds the changed passage).
        span: Of ``content``: ``paper`` (answer fact, else bridge entity, else salient span) or ``hop_fact``
            (the value that the base trace read at the hop).
        seed: Of donors, off-topic passages and drifted queries.
        version: Bumped when the fault changes.
    """

    name: str
    scope: Scope = "call"
    span: str = "paper"
    seed: int = 0
    version: int = 1

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise ConfigError(f"faults.name={self.name}: choose one of {', '.join(NAMES)}")
        if self.span not in SPANS:
            raise ConfigError(f"faults.span={self.span}: choose one of {', '.join(SPANS)}")
        if self.scope not in ("call", "corpus") or (self.scope == "corpus" and self.name != "content"):
            raise ConfigError(f"faults.scope={self.scope}: {self.name} can be in: call" + _also(self.name))


@dataclass(frozen=True, slots=True)
class Injection:
    """A fault in place.

    Attributes:
        environment: What the injected run meets.
        policy: Who acts in the injected run.
        working: What a re-execution meets: clean for ``call``, the changed index for ``corpus``.
        certificate: The exact edit; its stage is the hop.
        changed: The replacement that a content fault put in, empty for structural faults.
        strategy: How the span was chosen, empty for structural faults.
    """

    environment: Environment
    policy: Policy
    working: Environment
    certificate: Certificate
    changed: str = ""
    strategy: str = ""


class HopInjector:
    """Injects one fault into the hops of traces of one data set. Needs gold, to choose spans and donors.

    Args:
        corpus: The data set.
        fault: Settings.
    """

    needs_gold = True

    def __init__(self, corpus: LoadedCorpus, fault: HopFault) -> None:
        self.fault = fault
        self._corpus = corpus
        self._donors = Donors(corpus)
        self._ids = sorted(corpus.passages)

    def prepare(
        self, task: Task, base: tuple[Stage, ...], hop: int, clean: PlainEnvironment, policy: Policy
    ) -> Injection | Missing:
        """The fault at a hop of a base trace, or why it cannot be there.

        Args:
            task: The task.
            base: The hops of the base trace.
            hop: 1-based; at most ``len(base)``.
            clean: The clean environment of the task.
            policy: Who acted in the base trace.

        Raises:
            ConfigError: The base trace has no such hop (a clamped depth is an error, never a case).
        """
        if not 1 <= hop <= len(base):
            raise ConfigError(f"depth {hop}: question {task.id} has {len(base)} hops in its base trace")
        if self.fault.name == "content":
            return self._content(task, base, hop, clean, policy)
        rng = generator(self.fault.seed, task.id, self.fault.name, hop)
        stage = base[hop - 1]
        if self.fault.name == "early_termination":
            if hop == 1:  # an answer before the first search becomes a search with the question
                return Missing.NOT_APPLICABLE
            edit = Edit("hops", hop - 1, len(base), str(len(base)), str(hop - 1))
            certificate = self._certificate(hop, stage.query, (edit,))
            return Injection(clean, StoppedPolicy(policy, hop), clean, certificate)
        if self.fault.name == "drift":
            others = [other for other in self._corpus.tasks if other.id != task.id]
            if not others:
                return Missing.NO_DONOR
            other = others[int(rng.integers(len(others)))]
            edit = Edit("query", 0, len(stage.query), stage.query, other.question)
            certificate = self._certificate(hop, stage.query, (edit,), other.id)
            return Injection(clean, DriftedPolicy(policy, hop, other.question), clean, certificate)
        return self._documents(task, stage, hop, clean, policy)

    def _documents(
        self, task: Task, stage: Stage, hop: int, clean: PlainEnvironment, policy: Policy
    ) -> Injection | Missing:
        """Structural faults that change what one retrieval returns."""
        hits: tuple[Hit, ...] = ()
        hints: tuple[Hint, ...] = ()
        if self.fault.name == "irrelevant":
            own = set(self._corpus.pools[task.corpus_ref])
            others = [i for i in self._ids if i not in own]
            if len(others) < len(stage.hits):
                return Missing.NO_DONOR
            rng = generator(self.fault.seed, task.id, self.fault.name, hop)
            picks = rng.choice(len(others), len(stage.hits), replace=False)
            hits = tuple(
                Hit(self._corpus.passages[others[int(i)]], old.score, old.rank)
                for i, old in zip(picks, stage.hits, strict=True)
            )
        elif self.fault.name in _ASSERTIONS:
            text = _ASSERTIONS[self.fault.name].format(query=stage.query)
            note = Passage(f"assertion-{self.fault.name}-{hop}", "", (text,))
            top = stage.hits[0].score if stage.hits else 0.0
            hits = (Hit(note, top, 1), *(Hit(h.passage, h.score, h.rank + 1) for h in stage.hits))
            hints = (Hint(text, "", hop),)
        if hits == stage.hits:
            return Missing.NO_CHANGE
        before, after = (" ".join(h.passage.id for h in found) for found in (stage.hits, hits))
        certificate = self._certificate(hop, stage.query, (Edit("hits", 0, len(before), before, after),))
        return Injection(FaultyHits(clean, hop, hits, hints), policy, clean, certificate)

    def _content(
        self, task: Task, base: tuple[Stage, ...], hop: int, clean: PlainEnvironment, policy: Policy
    ) -> Injection | Missing:
        gold = self._corpus.gold[task.id]
        chosen = choose_span(task.question, gold, base, hop, self.fault.span)
        if chosen is None:
            return Missing.NO_SPAN
        own = (self._corpus.passages[i].rendered for i in self._corpus.pools[task.corpus_ref])
        unlike = " \n ".join((task.question, *gold.answers, *(h.answer for h in gold.hops), *own))
        rng = generator(self.fault.seed, task.id, self.fault.name, self.fault.span, hop)
        change = replacement_of(chosen, gold, self._donors, unlike, task.id, rng)
        if change is None:
            return Missing.NO_DONOR
        stated = gold.hops[hop - 1].passage_id if hop <= len(gold.hops) else None
        return self._changed(base[hop - 1], hop, clean, policy, change, stated)

    def _changed(
        self,
        stage: Stage,
        hop: int,
        clean: PlainEnvironment,
        policy: Policy,
        change: Change,
        stated: str | None,
    ) -> Injection | Missing:
        """``call``: every occurrence in the hop's documents; ``corpus``: the one passage that states it.

        That is the passage of the hop's annotation, or the best ranked one where that has no occurrence.
        """
        edits: list[Edit] = []
        swapped: list[Passage] = []
        hits = list(stage.hits)
        persists = self.fault.scope == "corpus"
        ranked = sorted(enumerate(stage.hits), key=lambda item: persists and item[1].passage.id != stated)
        for place, hit in ranked:
            passage, made = swap(hit.passage, change.before, change.after)
            if not made or (persists and swapped):
                continue
            edits += [Edit(f"{passage.id}.{e.where}", e.start, e.end, e.before, e.after) for e in made]
            swapped.append(passage)
            hits[place] = Hit(passage, hit.score, hit.rank)
        if not swapped:
            return Missing.NO_CHANGE
        certificate = self._certificate(hop, swapped[0].id, tuple(edits), change.donor, change.strategy)
        if persists:
            changed = CorpusFault(clean, clean.retriever, swapped[0])
            if swapped[0] not in [h.passage for h in changed.search(stage.query, len(stage.hits), hop)]:
                return Missing.NO_CHANGE
            return Injection(changed, policy, changed, certificate, change.after, change.strategy)
        environment = FaultyHits(clean, hop, tuple(hits))
        return Injection(environment, policy, clean, certificate, change.after, change.strategy)

    def _certificate(
        self,
        hop: int,
        target: str,
        edits: tuple[Edit, ...],
        donor: str | None = None,
        strategy: str = "",
    ) -> Certificate:
        kind = "content" if self.fault.name == "content" else "structural"
        generated = f"{self.fault.name}@{self.fault.version}" + (f":{strategy}" if strategy else "")
        return Certificate(self.fault.name, kind, self.fault.scope, hop, target, edits, generated, donor)


_ASSERTIONS = {
    "false_premise": 'There is no such entity: nothing that "{query}" could refer to exists.',
    "stale": 'Notice: the record on "{query}" has been superseded and is no longer valid.',
}


def _also(name: str) -> str:
    return " or corpus" if name == "content" else ""

"""Inference cascade (paper 1, VI-B): retrieval is clean, a misleading cue stands in a stage's context.

The cue asserts a wrong value of the right kind for the hop that the stage reads. Whether it is followed is
the policy's own affair (the reader's ``trust``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from faultline.corpora.donors import Donors
from faultline.errors import ConfigError, Missing
from faultline.faults.environments import CuedContext
from faultline.faults.site import Site, forbidden
from faultline.records import Certificate, Edit, Embedder, Hint, LoadedCorpus, Prepared, Scope
from faultline.stats import generator

HOP = 1
"""The hop that is read at stage 2."""
WORDINGS = {
    "plain": 'It is well established that the answer to "{query}" is {value}.',
    "ambiguous": 'Accounts differ on "{query}": {value} is the name that some of them may have had in mind.',
}
"""``ambiguous`` is the evasion of VII-D: worded so that clean evidence neither entails nor contradicts it."""


class CueWriter(Protocol):
    """Words a cue. A template does, and so does a language model."""

    def write(self, question: str, query: str, value: str) -> str | Missing:
        """The cue, which must name the value; or why there is none."""
        ...


@dataclass(frozen=True, slots=True)
class TemplateCue:
    """A fixed wording; ``{query}`` and ``{value}`` are put in."""

    template: str

    def write(self, question: str, query: str, value: str) -> str | Missing:
        """The filled template."""
        return self.template.format(query=query, value=value)


@dataclass(frozen=True, slots=True)
class InferenceFault:
    """Settings of the fault.

    Attributes:
        generator: ``template`` (an :class:`InferenceCue` may be given any other writer).
        wording: ``plain`` or ``ambiguous`` (VII-D).
        stage: 1-based stage whose context holds the cue; 2 in the paper.
        scope: ``context``.
        seed: Of the donors.
    """

    generator: str = "template"
    wording: str = "plain"
    stage: int = 2
    scope: Scope = "context"
    seed: int = 0
    name: str = "inference"
    cascade_type: str = "inference"
    version: int = 1

    def __post_init__(self) -> None:
        if self.generator != "template":
            raise ConfigError(f"faults.generator={self.generator}: choose template")
        if self.wording not in WORDINGS:
            raise ConfigError(f"faults.wording={self.wording}: choose one of {', '.join(WORDINGS)}")
        if self.scope != "context":
            raise ConfigError(f"faults.scope={self.scope}: choose context")
        if self.stage < 1:
            raise ConfigError(f"faults.stage={self.stage}: must be at least 1")

    def build(self, corpus: LoadedCorpus, embedder: Callable[[], Embedder]) -> InferenceCue:
        """What injects it; it needs no embedder."""
        return InferenceCue(corpus, self, TemplateCue(WORDINGS[self.wording]))


class InferenceCue:
    """Injects :class:`InferenceFault`. Needs gold, to know the kind of the value and what is not wrong.

    Args:
        corpus: The data set.
        fault: Settings.
        writer: Words the cue.
    """

    needs_gold = True

    def __init__(self, corpus: LoadedCorpus, fault: InferenceFault, writer: CueWriter) -> None:
        self.fault = fault
        self._corpus, self._writer = corpus, writer
        self._donors = Donors(corpus)

    def inject(self, site: Site) -> Prepared | Missing:
        """The environment with the cue in it.

        Returns:
            ``no_span`` if the question has no annotated hop, ``no_donor`` if no value of the kind fits,
            ``no_change`` if the writer's cue does not name the value, or the writer's own reason.
        """
        task, gold = site.task, self._corpus.gold[site.task.id]
        if len(gold.hops) < HOP:
            return Missing.NO_SPAN
        hop = gold.hops[HOP - 1]
        rng = generator(self.fault.seed, task.id, self.fault.name, self.fault.stage, "donor", site.sample)
        donor = self._donors.pick(hop.kind, hop.answer, forbidden(self._corpus, task), task.id, rng)
        if donor is None:
            return Missing.NO_DONOR
        cue = self._writer.write(task.question, site.first_query, donor.value)
        if isinstance(cue, Missing):
            return cue
        if donor.value not in cue:
            return Missing.NO_CHANGE
        certificate = Certificate(
            fault=self.fault.name,
            cascade_type=self.fault.cascade_type,
            scope=self.fault.scope,
            stage=self.fault.stage,
            target=f"context of stage {self.fault.stage}",
            edits=(Edit("context", 0, 0, "", cue),),
            generator=f"{self.fault.generator}:{self.fault.wording}@{self.fault.version}",
            donor=donor.task_id,
        )
        environment = CuedContext(site.clean, self.fault.stage, (Hint(cue, donor.value, HOP),))
        return Prepared(environment, certificate)

"""Confidence inflation (paper 1, VI-B): hedges are removed from a stage's output, and from nothing else.

Confidence is not edited. Where a backbone states it in words, it is read from the words as they now stand;
token log-probabilities stay what they were.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from faultline.errors import ConfigError, Missing
from faultline.faults.site import Site
from faultline.policies.wording import stated_confidence
from faultline.records import (
    Action,
    ActionKind,
    Certificate,
    Edit,
    Embedder,
    LoadedCorpus,
    Policy,
    Prepared,
    Scope,
    State,
)

HEDGES = (
    r"it is (?:possible|likely|probable) that",
    r"it (?:seems|appears) that",
    r"(?:may|might|could) be",
    r"seems? to be",
    r"appears? to be",
    r"possibly",
    r"probably",
    r"perhaps",
    r"maybe",
    r"likely",
    r"presumably",
    r"apparently",
)
"""Longest first where one begins another."""
_HEDGE = re.compile(rf"\b(?:{'|'.join(HEDGES)})\b ?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class InflationFault:
    """Settings of the fault.

    Attributes:
        scope: ``context``: what later stages are shown.
    """

    generator: str = "hedge_removal"
    scope: Scope = "context"
    seed: int = 0
    name: str = "inflation"
    cascade_type: str = "inflation"
    version: int = 1

    def __post_init__(self) -> None:
        if self.generator != "hedge_removal":
            raise ConfigError(f"faults.generator={self.generator}: choose hedge_removal")
        if self.scope != "context":
            raise ConfigError(f"faults.scope={self.scope}: choose context")

    def build(self, corpus: LoadedCorpus, embedder: Callable[[], Embedder]) -> HedgeRemoval:
        """What injects it; it needs neither gold nor an embedder."""
        return HedgeRemoval(self)


class HedgeRemoval:
    """Injects :class:`InflationFault` at the first stage whose clean output hedges."""

    needs_gold = False

    def __init__(self, fault: InflationFault) -> None:
        self.fault = fault

    def inject(self, site: Site) -> Prepared | Missing:
        """A policy that is definite at that stage; ``no_change`` if no stage of the clean run hedges."""
        stages = site.agent.run(site.task, site.clean, site.policy, sample=site.sample)
        written = (stage for stage in stages if stage.kind != "retrieval")
        found = next(((stage, definite(stage.text)) for stage in written if definite(stage.text)[1]), None)
        if found is None:
            return Missing.NO_CHANGE
        stage, (_, edits) = found
        certificate = Certificate(
            fault=self.fault.name,
            cascade_type=self.fault.cascade_type,
            scope=self.fault.scope,
            stage=stage.index,
            target=f"output of stage {stage.index}",
            edits=edits,
            generator=f"{self.fault.generator}@{self.fault.version}",
        )
        return Prepared(site.clean, certificate, policy=Definite(site.policy, stage.index))


class Definite:
    """Says at one stage without hedges what the inner policy says with them.

    Args:
        inner: Who acts.
        stage: 1-based stage whose output is changed.
    """

    def __init__(self, inner: Policy, stage: int) -> None:
        self._inner, self._stage = inner, stage
        self.backbone = inner.backbone

    def act(self, kind: ActionKind, state: State) -> Action:
        """The inner policy's action, its words changed at the stage."""
        action = self._inner.act(kind, state)
        if kind == "query" or len(state.thoughts) + 1 != self._stage:
            return action
        text, edits = definite(action.text)
        if not edits:
            return action
        worded = action.confidence is not None and not action.token_logprobs
        confidence = stated_confidence(text) if worded else action.confidence
        return replace(action, text=text, confidence=confidence)


def definite(text: str) -> tuple[str, tuple[Edit, ...]]:
    """A text without its hedges (``may be`` becomes ``is``), and the edits with offsets in the original."""
    edits: list[Edit] = []
    for match in _HEDGE.finditer(text):
        verb = match.group().lower().rstrip().endswith(" be")
        edits.append(Edit("text", match.start(), match.end(), match.group(), "is " if verb else ""))
    for edit in reversed(edits):
        text = text[: edit.start] + edit.after + text[edit.end :]
    return text, tuple(edits)

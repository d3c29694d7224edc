"""What can be done again from a hop-loop trace, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from faultline.errors import Missing

Operation = Literal["regenerate", "repair", "freeze", "continue", "placebo"]
Source = Literal["working", "trusted"]


@dataclass(frozen=True, slots=True)
class Probe:
    """One intervention, named.

    Attributes:
        operation: ``regenerate``: keep hops < h, act again from h. ``repair``: search hop h again with its
            own query in ``source``, then act again from h + 1. ``freeze``: search hop h again, keep all other
            hops, force an answer. ``continue``: keep every hop and search on, one hop beyond the budget if
            need be. ``placebo``: change nothing, force an answer again.
        hop: 1-based; of ``continue`` the first new hop, of ``placebo`` 0.
        source: ``working`` (what a re-execution meets; a corpus fault is still in it) or ``trusted`` (clean).
            Of ``repair`` it is the source of hop h only; later hops are always ``working``.
        sample: Repeats are different samples; the trace itself was sample 0.
    """

    operation: Operation
    hop: int
    source: Source = "working"
    sample: int = 1

    @property
    def id(self) -> str:
        """Stable name."""
        return f"{self.operation}/{self.hop}/{self.source}/{self.sample}"


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What came of it.

    Attributes:
        answer: The new answer, None with ``missing`` saying why.
        tokens: Of all calls that the probe made, as if nothing were shared with other probes.
        hops: Hops of the new trace.
        new_hops: Hops that were searched again.
        queries: Of the new trace, by hop.
        notes: What was read, by hop.
        passages: Passage ids, by hop.
        support: Share of the answer's tokens that stand in the new trace's documents; 0 without an answer.
    """

    answer: str | None
    missing: Missing | None
    tokens: int
    hops: int
    new_hops: int
    queries: tuple[str, ...]
    notes: tuple[str | None, ...]
    passages: tuple[tuple[str, ...], ...]
    support: float


Probes = Callable[[Probe], ProbeResult]
"""A case's interventions: asked by name, answered from the store or by acting."""

"""What a run with a fault at one hop meets: other documents, a drifted query, an early stop."""

from __future__ import annotations

from faultline.errors import Missing
from faultline.records import Action, ActionKind, Environment, Hint, Hit, Policy, State


class FaultyHits:
    """One retrieval, at one hop, returns these documents, with assertions beside them.

    Args:
        inner: The clean environment.
        hop: 1-based hop that is hit.
        hits: What it returns.
        hints: Assertions in the context of the hop.
    """

    def __init__(
        self, inner: Environment, hop: int, hits: tuple[Hit, ...], hints: tuple[Hint, ...] = ()
    ) -> None:
        self._inner, self._hop, self._hits, self._hints = inner, hop, hits, hints

    def search(self, query: str, k: int, stage: int) -> tuple[Hit, ...]:
        """The faulty documents at the hop, the clean ones elsewhere."""
        return self._hits if stage == self._hop else self._inner.search(query, k, stage)

    def hints(self, stage: int) -> tuple[Hint, ...]:
        """The fault's assertions at the hop, those of the clean environment elsewhere."""
        return self._hints if stage == self._hop else self._inner.hints(stage)


class DriftedPolicy:
    """Asks something else at one hop.

    Args:
        inner: Who acts.
        hop: 1-based hop that is hit.
        query: The drifted query.
    """

    def __init__(self, inner: Policy, hop: int, query: str) -> None:
        self._inner, self._hop, self._query = inner, hop, query
        self.backbone = inner.backbone

    def act(self, kind: ActionKind, state: State) -> Action:
        """The drifted query at the hop, the inner policy's action elsewhere."""
        if kind == "query" and state.hop == self._hop:
            return Action("query", self._query)
        return self._inner.act(kind, state)


class StoppedPolicy:
    """Searches no more from one hop on.

    Args:
        inner: Who acts.
        hop: 1-based first hop that does not take place.
    """

    def __init__(self, inner: Policy, hop: int) -> None:
        self._inner, self._hop = inner, hop
        self.backbone = inner.backbone

    def act(self, kind: ActionKind, state: State) -> Action:
        """Nothing more to look up from the hop on, the inner policy's action otherwise."""
        if kind == "query" and state.hop >= self._hop:
            return Action("query", "", missing=Missing.NOT_APPLICABLE)
        return self._inner.act(kind, state)

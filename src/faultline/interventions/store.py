"""The memoised store of interventions: (trace, operation, hop, source, sample) to what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from faultline.codec import decode
from faultline.errors import FAILED_CALLS, Missing
from faultline.interventions.execute import Scene, execute
from faultline.interventions.probe import Probe, ProbeResult, Probes
from faultline.store import AppendStore, exclusive


class InterventionStore:
    """Results by trace and probe. What one consumer asked for, the next one finds.

    Args:
        store: The file; held exclusively inside :meth:`opened`.
    """

    def __init__(self, store: AppendStore) -> None:
        self._store = store
        self._known: dict[str, ProbeResult] = {}
        self._fresh: list[tuple[str, ProbeResult]] = []
        self._asked: dict[str, Missing | None] = {}

    @contextmanager
    def opened(self) -> Iterator[InterventionStore]:
        """Read what is there; what is new is written at :meth:`flush` and at the end."""
        with exclusive(self._store.path.with_suffix(".lock")):
            self._known = {name: decode(ProbeResult, raw) for name, raw in self._store.read().items()}
            try:
                yield self
            finally:
                self.flush()

    def probes(self, scene: Scene) -> Probes:
        """The interventions of one trace, carried out on first use."""
        return self.lookup(scene.id, lambda probe: execute(scene, probe))

    def lookup(self, trace: str, act: Callable[[Probe], ProbeResult]) -> Probes:
        """As :meth:`probes`, for anything that can act on a probe."""

        def ask(probe: Probe) -> ProbeResult:
            name = f"{trace}|{probe.id}"
            found = self._known.get(name)
            if found is None:
                found = act(probe)
                self._known[name] = found
                # A timeout is not something that came of it: the next run asks again.
                if found.missing is not Missing.TIMEOUT:
                    self._fresh.append((name, found))
            self._asked[name] = found.missing
            return found

        return ask

    @property
    def asked(self) -> int:
        """Distinct interventions that were asked for."""
        return len(self._asked)

    @property
    def failed(self) -> dict[str, int]:
        """Those of them that a model's failure left without an answer, by reason."""
        return dict(Counter(str(m) for m in self._asked.values() if m in FAILED_CALLS))

    def flush(self) -> int:
        """Write what is new; returns how many results that were."""
        fresh, self._fresh = self._fresh, []
        if fresh:
            self._store.append(fresh)
        return len(fresh)

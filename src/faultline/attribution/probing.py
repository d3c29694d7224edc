"""One probe engine: Propagation-Aware and Suf-Regen are two settings of it (paper 2, section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from faultline.attribution.diagnosis import Case, Diagnosis, FailureStage, flips, right
from faultline.attribution.outcomes import tokens
from faultline.attribution.trace_diagnosers import document_tokens
from faultline.errors import ConfigError
from faultline.interventions.probe import Operation, Probe, Source
from faultline.stats import generator

ORDERS = ("earliest", "latest", "random", "binary")


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """How a trace is probed.

    Attributes:
        operation: ``freeze`` (Propagation-Aware), ``repair`` (Suf-Regen) or ``regenerate``.
        order: ``earliest``, ``latest`` or ``random``: the first flip wins. ``binary``: the latest flip, found
            on the assumption that every earlier hop flips too.
        source: Where the probed hop searches; the paper's is ``trusted``.
        budget: Most probes, None for no limit (the paper: 4 in the structural sweep, none in the other).
        max_tokens: No probe is started once this many tokens are spent; None for no limit.
        repeats: Samples a probe; it flips if more than half of them do.
        goes_on: After the hops, whether to search on beyond the last one.
        falls_back: Then name the first hop that shares no token with the gold answer (needs gold).
        seed: Of the random order.
    """

    operation: Operation
    order: str = "earliest"
    source: Source = "trusted"
    budget: int | None = None
    max_tokens: int | None = None
    repeats: int = 1
    goes_on: bool = True
    falls_back: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise ConfigError(f"order={self.order}: choose one of {', '.join(ORDERS)}")
        if self.operation not in ("freeze", "repair", "regenerate"):
            raise ConfigError(f"operation={self.operation}: choose freeze, repair or regenerate")
        if self.repeats < 1 or (self.budget is not None and self.budget < 1):
            raise ConfigError("budget and repeats must be at least 1")


@dataclass(slots=True)
class Meter:
    """Asks probes and keeps the bill."""

    case: Case
    settings: ProbeSettings
    tokens: int = 0
    probes: int = 0
    tried: dict[int, bool] = field(default_factory=dict)

    @property
    def spent(self) -> bool:
        """Whether the budget forbids another probe."""
        budget, limit = self.settings.budget, self.settings.max_tokens
        return (budget is not None and self.probes >= budget) or (limit is not None and self.tokens >= limit)

    def flips(self, operation: Operation, hop: int) -> bool:
        """Whether a probe repairs the trace, by majority of its repeats."""
        source: Source = "working" if operation == "continue" else self.settings.source
        hits = 0
        for sample in range(1, self.settings.repeats + 1):
            result = self.case.probes(Probe(operation, hop, source, sample))
            self.tokens += result.tokens
            hits += flips(self.case, result)
        self.probes += 1
        return 2 * hits > self.settings.repeats


@dataclass(frozen=True, slots=True)
class ProbeDiagnoser:
    """Names the hop whose probe repairs the trace.

    Args:
        name: As in the results table.
        settings: How it probes.
        needs_gold: Whether a repair is an answer that is correct, or one that differs and is supported.
    """

    name: str
    settings: ProbeSettings
    needs_gold: bool = True

    def diagnose(self, case: Case) -> Diagnosis:
        """The first (or, by binary search, the latest) hop that flips; then going on; then the fallback."""
        if case.gold is not None and right(case.answer, case.gold):
            return Diagnosis("none", 0, reason="correct")
        meter = Meter(case, self.settings)
        hop = _binary(meter) if self.settings.order == "binary" else _linear(meter)
        stage: FailureStage = "retrieval"
        if not hop and self.settings.goes_on and not meter.spent:
            beyond = len(case.hops) + 1
            if meter.flips("continue", beyond):
                hop, stage = beyond, "answer_generation"
        if not hop and self.settings.falls_back and case.gold is not None:
            hop = _zero_overlap(case)
        if not hop:
            return Diagnosis("answer_generation", 0, meter.tokens, reason="no_flip", probes=meter.probes)
        return Diagnosis(stage, hop, meter.tokens, probes=meter.probes)


def propagation_aware(name: str = "propagation_aware", **changes: object) -> ProbeDiagnoser:
    """The paper's frozen-hop repair, earliest first."""
    return ProbeDiagnoser(name, ProbeSettings("freeze", **changes))  # type: ignore[arg-type]


def suffix_regen(name: str = "suffix_regen", **changes: object) -> ProbeDiagnoser:
    """The paper's suffix regeneration, earliest first."""
    return ProbeDiagnoser(name, ProbeSettings("repair", **changes))  # type: ignore[arg-type]


def _order(case: Case, settings: ProbeSettings) -> Sequence[int]:
    hops = list(range(1, len(case.hops) + 1))
    if settings.order == "latest":
        return hops[::-1]
    if settings.order == "random":
        rng = generator(settings.seed, case.id, "probe-order")
        return [hops[int(i)] for i in rng.permutation(len(hops))]
    return hops


def _linear(meter: Meter) -> int:
    for hop in _order(meter.case, meter.settings):
        if meter.spent:
            return 0
        if meter.flips(meter.settings.operation, hop):
            return hop
    return 0


def _binary(meter: Meter) -> int:
    """The largest hop that flips if all earlier ones do: about log2 of the hops."""
    low, high = 0, len(meter.case.hops)
    while low < high and not meter.spent:
        middle = (low + high + 1) // 2
        if meter.flips(meter.settings.operation, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _zero_overlap(case: Case) -> int:
    gold = set(tokens(case.annotation.answers[0]))
    return next((hop.index for hop in case.hops if not gold & set(document_tokens(hop))), 0)

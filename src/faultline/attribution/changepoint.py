"""The latest hop whose regeneration repairs the trace (our diagnoser; see the simulation in docs of paper 2).

Regenerating from any hop up to the cause heals a fault of one call, so the EARLIEST flip is hop 1 by
construction and the LATEST flip is the cause. Where nothing flips, the fault persists in the corpus: then the
earliest hop at which a trusted source changes what is read, or the answer, is the cause.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from faultline.attribution import posterior as post
from faultline.attribution.diagnosis import Case, Diagnosis, flips, right
from faultline.corpora.spans import normalise
from faultline.errors import ConfigError
from faultline.interventions.probe import Probe, ProbeResult

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ChangePointSettings:
    """How long it looks.

    Attributes:
        confidence: Posterior at which it stops, in (0, 1).
        abstain: Posterior below which it names no hop (hops are entangled), in [0, 1].
        max_probes: Most probes, None for 4 a hop.
        max_tokens: No probe is started once this many tokens are spent; None for no limit.
        placebos: Null repairs a case, which set the rate of chance flips.
        persistent: Prior that nothing regenerates the answer (the fault is in the corpus).
        stopped: Prior that the run stopped early.
        hit: Beta prior of the flip rate of a regeneration that repairs; a long suffix can fail anew.
        reads: Beta prior of the rate at which a repair changes what is read.
        loose: Beta prior of the flip rate of a probe that may repair.
        false: Beta prior of the flip rate of one that does not; the placebos are added to it.
    """

    confidence: float = 0.9
    abstain: float = 0.5
    max_probes: int | None = None
    max_tokens: int | None = None
    placebos: int = 3
    persistent: float = 0.25
    stopped: float = 0.1
    hit: tuple[float, float] = (4.0, 1.0)
    reads: tuple[float, float] = (9.0, 1.0)
    loose: tuple[float, float] = (1.0, 2.0)
    false: tuple[float, float] = (1.0, 19.0)

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1 or not 0 <= self.abstain <= 1:
            raise ConfigError("changepoint: confidence must be in (0, 1), abstain in [0, 1]")
        if self.persistent <= 0 or self.stopped <= 0 or self.persistent + self.stopped >= 1:
            raise ConfigError("changepoint: persistent and stopped must be positive and sum to less than 1")


@dataclass(slots=True)
class _Search:
    """Probes until one hypothesis is sure or the budget is spent."""

    roles: post.IntArray
    prior: FloatArray
    rates: FloatArray
    costs: FloatArray
    probe: Callable[[int, int], Probe]
    repaired: Callable[[Case, int, ProbeResult], bool]
    sweeps: bool
    flips: FloatArray = field(init=False)
    trials: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.flips = np.zeros(self.roles.shape[1])
        self.trials = np.zeros(self.roles.shape[1])

    @property
    def beliefs(self) -> FloatArray:
        return post.posterior(self.roles, self.flips, self.trials, self.prior, self.rates)

    def run(self, case: Case, settings: ChangePointSettings, bill: _Bill) -> FloatArray:
        limit = settings.max_probes or 4 * (len(case.hops) + 1)
        while self.beliefs.max() < settings.confidence and bill.probes < limit:
            if settings.max_tokens is not None and bill.tokens >= settings.max_tokens:
                break
            place = self._next()
            result = case.probes(self.probe(place + 1, int(self.trials[place]) + 1))
            self.flips[place] += self.repaired(case, place + 1, result)
            self.trials[place] += 1
            bill.tokens += result.tokens
            bill.probes += 1
        return self.beliefs

    def _next(self) -> int:
        """Sweeping, hops in order until one flips: a later hop may flip as well, and tells less."""
        untried = np.flatnonzero(self.trials == 0)
        if self.sweeps and untried.size and not self.flips.any():
            return int(untried[0])
        return post.next_probe(self.roles, self.flips, self.trials, self.prior, self.rates, self.costs)


@dataclass(slots=True)
class _Bill:
    tokens: int = 0
    placebo_tokens: int = 0
    probes: int = 0


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """Names the latest hop whose regeneration repairs the trace, with a probability for each hop.

    Args:
        name: As in the results table.
        settings: How long it looks.
        needs_gold: Whether a repair is an answer that is correct, or one that differs and is supported.
    """

    name: str = "changepoint"
    settings: ChangePointSettings = field(default_factory=ChangePointSettings)
    needs_gold: bool = True

    def diagnose(self, case: Case) -> Diagnosis:
        """The most probable hop, or none where the probes do not tell."""
        if case.gold is not None and right(case.answer, case.gold):
            return Diagnosis("none", 0, reason="correct")
        bill = _Bill()
        rates = self._rates(case, bill)
        count = len(case.hops)
        steps = (post.step_roles(count), self._step_prior(count), rates, _costs(count))
        first = _Search(*steps, _regenerated(count), _mended, sweeps=False)
        step = first.run(case, self.settings, bill)
        if int(np.argmax(step)) == 0 and count:
            read = np.vstack([np.array(self.settings.reads)[None, :], rates[1:]])
            spikes = (post.spike_roles(count), _spike_prior(count), read, _costs(count)[:count])
            second = _Search(*spikes, _repaired, _reads_otherwise, sweeps=True)
            spike = second.run(case, self.settings, bill)
        else:
            spike = _spike_prior(count)
        chances = step[1:] + step[0] * np.append(spike[1:], 0.0)
        return self._verdict(chances, float(step[0] * spike[0]), bill, count)

    def _verdict(self, chances: FloatArray, none: float, bill: _Bill, count: int) -> Diagnosis:
        hop = int(np.argmax(chances)) + 1
        best = float(chances[hop - 1])
        reason = "no_flip" if none > best else "entangled" if best < self.settings.abstain else ""
        stage = "none" if reason else "answer_generation" if hop > count else "retrieval"
        return Diagnosis(
            stage=stage,  # type: ignore[arg-type]
            hop=0 if reason else hop,
            tokens=bill.tokens,
            placebo_tokens=bill.placebo_tokens,
            probabilities=tuple(float(p) for p in chances),
            reason=reason,
            probes=bill.probes,
        )

    def _rates(self, case: Case, bill: _Bill) -> FloatArray:
        chance = 0
        for sample in range(1, self.settings.placebos + 1):
            result = case.probes(Probe("placebo", 0, "working", sample))
            bill.placebo_tokens += result.tokens
            chance += flips(case, result)
        a, b = self.settings.false
        false = (a + chance, b + self.settings.placebos - chance)
        return np.array([self.settings.hit, self.settings.loose, false], dtype=np.float64)

    def _step_prior(self, count: int) -> FloatArray:
        each = (1.0 - self.settings.persistent - self.settings.stopped) / max(1, count)
        if count == 0:
            return np.array([self.settings.persistent, 1.0 - self.settings.persistent])
        return np.array([self.settings.persistent, *[each] * count, self.settings.stopped])


def _costs(count: int) -> FloatArray:
    """Calls that regenerating from hop k (1 to count + 1) makes, weighted by the evidence it is shown."""
    calls = np.arange(count + 1, dtype=np.float64)  # the call at hop k is shown k - 1 hops
    return np.cumsum(calls[::-1])[::-1] + 1.0


def _mended(case: Case, hop: int, result: ProbeResult) -> bool:
    return flips(case, result)


def _reads_otherwise(case: Case, hop: int, result: ProbeResult) -> bool:
    """Whether a repair from a trusted source changed the answer for the better, or what was read at the hop.

    The reading counts because an agent that sees all evidence again can meet the changed passage once more,
    at a later hop, which undoes the repair of the right hop.
    """
    was, now = case.hops[hop - 1].answer, result.notes[hop - 1]
    changed = now is not None and (was is None or normalise(was) != normalise(now))
    return changed or flips(case, result)


def _spike_prior(count: int) -> FloatArray:
    return np.full(count + 1, 1.0 / (count + 1))


def _regenerated(count: int) -> Callable[[int, int], Probe]:
    def probe(hop: int, sample: int) -> Probe:
        return Probe("continue" if hop > count else "regenerate", hop, "working", sample)

    return probe


def _repaired(hop: int, sample: int) -> Probe:
    return Probe("repair", hop, "trusted", sample)

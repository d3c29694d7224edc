"""Control, gold-free: is what was read at a hop entailed by what was retrieved there?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from faultline.attribution.diagnosis import Case, Diagnosis
from faultline.records import Stage, Verifier

Pair = tuple[str, str]
TAU = 0.72
"""Entailment below which a hop counts as insufficient: paper 1's threshold, not fitted here."""


@dataclass(frozen=True, slots=True)
class NliSufficiency:
    """The first hop whose reading no document of that hop entails; a hop that read nothing is insufficient.

    Attributes:
        entailment: P(entailed) by (document, claim) pair, from :func:`score`.
        tau: Threshold.
    """

    entailment: Mapping[Pair, float] = field(repr=False)
    tau: float = TAU
    name: str = "nli_sufficiency"
    needs_gold: bool = False

    def diagnose(self, case: Case) -> Diagnosis:
        """The first insufficient hop; the answer stage, hop 0, if there is none."""
        for hop in case.hops:
            if max((self.entailment[pair] for pair in pairs_of(hop)), default=0.0) < self.tau:
                return Diagnosis("retrieval", hop.index)
        return Diagnosis("answer_generation", 0, reason="sufficient")


def pairs_of(hop: Stage) -> list[Pair]:
    """Each document of a hop with the hop's claim, its query and what was read; none without a reading."""
    if not hop.answer:
        return []
    claim = f"{hop.query} {hop.answer}."
    return [(hit.passage.rendered, claim) for hit in hop.hits]


def score(verifier: Verifier, cases: Iterable[Case]) -> dict[Pair, float]:
    """P(entailed) of every pair of some traces, distinct pairs once, in one batch plan."""
    pairs: Sequence[Pair] = sorted({pair for case in cases for hop in case.hops for pair in pairs_of(hop)})
    if not pairs:
        return {}
    probs: npt.NDArray[np.float64] = verifier.verify(list(pairs))
    return {pair: float(p) for pair, p in zip(pairs, probs[:, 0], strict=True)}

"""OSR, the observability score ratio: three lexicons, matched in the text of a response (paper 3, section 5).

The prose of section 5 counts occurrences, Appendix C counts distinct phrases; ``reading`` chooses. The paper
says 22 disclaimer phrases and prints 21: the missing one is "unverified", as the released notebook shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Reading = Literal["distinct", "occurrences"]

REASONING = (
    "because",
    "the reason",
    "this is due to",
    "therefore",
    "consequently",
    "this suggests",
    "analysis shows",
    "upon review",
    "examining",
    "considering",
    "to clarify",
    "in other words",
    "let me explain",
    "it follows that",
)
METADATA = (
    "confidence",
    "risk level",
    "category",
    "classification",
    "verified",
    "unverified",
    "source",
    "evidence level",
    "certainty",
    "whisper",
    "context:",
    "assessment",
    "hallucination",
    "rating",
)
PRINTED_DISCLAIMERS = (
    "disclaimer",
    "note that",
    "it is important to note",
    "fiction",
    "fictional",
    "myth",
    "legend",
    "speculative",
    "hypothetical",
    "imaginary",
    "no real-world basis",
    "not factual",
    "not verified",
    "purely theoretical",
    "no evidence exists",
    "cannot be confirmed",
    "should not be taken as fact",
    "for illustration only",
    "reportedly",
    "allegedly",
    "purportedly",
)
"""The disclaimer phrases that the paper prints: 21, though it says 22."""
DISCLAIMERS = (*PRINTED_DISCLAIMERS, "unverified")

WEIGHTS = (0.4, 0.3, 0.3)
"""Of the reasoning, metadata and disclaimer scores."""
SATURATION = (5.0, 3.0, 5.0)
"""Counts at which each score reaches one."""
CLAMP = (0.05, 0.95)


@dataclass(frozen=True, slots=True)
class Counts:
    """Matched phrases of a response."""

    reasoning: int
    metadata: int
    disclaimer: int


def matched(text: str, lexicon: tuple[str, ...], reading: Reading = "distinct") -> int:
    """Case-insensitive substring matches of a lexicon in a text.

    Args:
        text: The whole response.
        lexicon: Lower-case phrases.
        reading: ``distinct`` counts each phrase once (Appendix C), ``occurrences`` every non-overlapping
            match of every phrase (section 5).
    """
    low = text.lower()
    if reading == "distinct":
        return sum(phrase in low for phrase in lexicon)
    return sum(low.count(phrase) for phrase in lexicon)


def counts(text: str, reading: Reading = "distinct", disclaimers: tuple[str, ...] = DISCLAIMERS) -> Counts:
    """The three counts of a response."""
    return Counts(
        matched(text, REASONING, reading),
        matched(text, METADATA, reading),
        matched(text, disclaimers, reading),
    )


def score(
    reasoning: npt.ArrayLike, metadata: npt.ArrayLike, disclaimer: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """OSR from counts: .4 min(r/5, 1) + .3 min(m/3, 1) + .3 min(d/5, 1), clamped to [.05, .95] (Appendix C).

    Args:
        reasoning: Counts, any shape.
        metadata: The same shape.
        disclaimer: The same shape.
    """
    parts = (
        weight * np.minimum(np.asarray(count, dtype=np.float64) / full, 1.0)
        for weight, full, count in zip(WEIGHTS, SATURATION, (reasoning, metadata, disclaimer), strict=True)
    )
    return np.asarray(np.clip(sum(parts), *CLAMP), dtype=np.float64)


def osr(text: str, reading: Reading = "distinct", disclaimers: tuple[str, ...] = DISCLAIMERS) -> float:
    """OSR of one response."""
    c = counts(text, reading, disclaimers)
    return float(score(c.reasoning, c.metadata, c.disclaimer))

"""Splitting a paragraph into sentences that join to the paragraph again, byte for byte."""

from __future__ import annotations

import re

_BOUNDARY = re.compile(r"(?<=[.!?])(?=\s+[\"'“(\[]?[A-Z0-9])")


def split_sentences(text: str) -> tuple[str, ...]:
    """Sentences with their leading space; abbreviations may split early, which loses nothing.

    Args:
        text: A paragraph; an empty one is one empty sentence.
    """
    return tuple(_BOUNDARY.split(text))


def spaced(sentences: tuple[str, ...]) -> tuple[str, ...]:
    """Sentences that were published without their leading spaces, with one put before all but the first."""
    return tuple(s if i == 0 or s[:1].isspace() or not s else f" {s}" for i, s in enumerate(sentences))

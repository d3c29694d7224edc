"""Premises: one passage, a window of it, or three passages joined as the consensus anchor joins them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultline.records import Passage

MAX_WORDS = 230
"""Longest derived premise in words: about 300 word pieces, so that a claim still fits beside it."""


def words(text: str) -> int:
    """Blank-separated words."""
    return len(text.split())


def window(passage: Passage, keep: int | None, limit: int, rng: np.random.Generator) -> Passage:
    """A run of whole sentences around sentence ``keep``, at most ``limit`` words unless that one is longer.

    Args:
        passage: The whole passage.
        keep: Index of the sentence that must stay; None keeps the first.
        limit: Words.
        rng: Decides on which side the window grows.
    """
    first = last = keep or 0
    total = words(passage.sentences[first]) if passage.sentences else 0
    while passage.sentences:
        sides = [i for i in (first - 1, last + 1) if 0 <= i < len(passage.sentences)]
        sides = [i for i in sides if total + words(passage.sentences[i]) <= limit]
        if not sides:
            break
        side = sides[int(rng.integers(len(sides)))]
        total += words(passage.sentences[side])
        first, last = min(first, side), max(last, side)
    return Passage(passage.id, passage.title, passage.sentences[first : last + 1])


def without_sentence(passage: Passage, index: int) -> Passage:
    """The passage with one sentence taken out."""
    return Passage(passage.id, passage.title, passage.sentences[:index] + passage.sentences[index + 1 :])


def joined(passages: Sequence[Passage], rng: np.random.Generator | None = None) -> str:
    """Rendered passages joined by a space, in a random order if a generator is given."""
    order = range(len(passages)) if rng is None else rng.permutation(len(passages))
    return " ".join(passages[i].rendered for i in order)


def among_others(
    needed: Sequence[Passage], others: Sequence[Passage], total: int, rng: np.random.Generator
) -> str:
    """The needed passages among distractors, ``total`` passages in all, cut by whole sentences to fit.

    The needed ones stay whole; what is left of :data:`MAX_WORDS` is shared by the distractors.
    """
    count = max(0, min(total - len(needed), len(others)))
    chosen = [others[i] for i in rng.choice(len(others), size=count, replace=False)] if count else []
    room = max(MAX_WORDS - sum(words(p.rendered) for p in needed), 20 * count)
    cut = [window(p, None, room // count, rng) for p in chosen]
    return joined([*needed, *cut], rng)

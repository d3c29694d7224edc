"""Sliding windows over token counts, and how the scores of windows make the score of a pair.

Nothing is cut: every token of a long premise or hypothesis is in some window (paper CHARM, VI-A3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from faultline.errors import ConfigError

Window = tuple[int, int]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WindowRule:
    """How long pairs slide.

    Attributes:
        size: Hypothesis window in tokens (CHARM VI-A3: 512).
        stride: Hypothesis stride in tokens (CHARM VI-A3: 256).
        min_premise: Tokens that a long premise keeps at least beside a hypothesis window.
    """

    size: int = 512
    stride: int = 256
    min_premise: int = 128


@dataclass(frozen=True, slots=True)
class PairWindows:
    """Token ranges (start, end) of a pair; every hypothesis window meets every premise window."""

    premise: tuple[Window, ...]
    hypothesis: tuple[Window, ...]

    @property
    def count(self) -> int:
        """Model inputs that the pair costs."""
        return len(self.premise) * len(self.hypothesis)


@dataclass(frozen=True, slots=True)
class Combined:
    """Scores of pairs from the scores of their windows.

    Attributes:
        probs: Shape (n, 3), the triple of the deciding window of each pair.
        rows: Shape (n,), the row of that window in the input.
    """

    probs: FloatArray
    rows: IntArray


def windows(length: int, size: int, stride: int) -> tuple[Window, ...]:
    """Ranges that cover ``length`` tokens; where there are several, all have the full size.

    Args:
        length: Tokens, >= 0; an empty text has the one window (0, 0).
        size: Tokens a window, >= 1.
        stride: Tokens between starts, in [1, size] so that nothing falls between windows. The last window
            ends with the text, so its overlap may be larger.

    Raises:
        ConfigError: Size or stride out of range.
    """
    if size < 1 or not 1 <= stride <= size:
        raise ConfigError(f"window size {size}, stride {stride}: need 1 <= stride <= size")
    if length <= size:
        return ((0, length),)
    starts = [*range(0, length - size, stride), length - size]
    return tuple((start, start + size) for start in starts)


def chunks(length: int, size: int) -> tuple[Window, ...]:
    """Ranges of at most ``size`` tokens without overlap; the last one may be short."""
    if size < 1:
        raise ConfigError(f"chunk size {size}: need at least 1 token")
    return tuple((start, min(start + size, length)) for start in range(0, max(length, 1), size))


def pair_windows(
    premise: int, hypothesis: int, max_tokens: int, specials: int, rule: WindowRule | None = None
) -> PairWindows:
    """Windows of a pair such that every hypothesis window fits beside every premise window.

    The hypothesis takes ``rule.size`` tokens, less where that would leave a long premise fewer than
    ``rule.min_premise``; the premise fills what remains and slides by half its window.

    Args:
        premise: Premise tokens.
        hypothesis: Hypothesis tokens.
        max_tokens: Longest input of the model, special tokens included.
        specials: Special tokens of a pair.
        rule: Sizes; the paper's by default.

    Raises:
        ConfigError: The model's input is too short for any window.
    """
    rule = rule or WindowRule()
    reserve = min(premise, rule.min_premise)
    size = min(rule.size, max_tokens - specials - reserve)
    if size < 1:
        raise ConfigError(f"max_tokens {max_tokens} leaves no hypothesis beside {reserve} premise tokens")
    parts = windows(hypothesis, size, max(1, min(rule.stride, size // 2)))
    # All hypothesis windows have one length, so one premise window length fits them all.
    room = max_tokens - specials - (parts[0][1] - parts[0][0])
    if room < 1:
        return PairWindows(((0, 0),), parts)
    return PairWindows(windows(premise, room, max(1, room // 2)), parts)


def uncovered(length: int, parts: Iterable[Window]) -> int:
    """How many of ``length`` tokens are in no window."""
    seen = np.zeros(length, dtype=bool)
    for start, end in parts:
        seen[start:end] = True
    return int(length - seen.sum())


def combine(
    probs: FloatArray, pair: IntArray, hypothesis: IntArray, premise: IntArray, count: int | None = None
) -> Combined:
    """Support = min over hypothesis windows of the max over premise windows of P(entailment).

    A claim is supported if every part of it is supported by some part of the evidence (CHARM VI-A3 for the
    minimum; the maximum is ours). The triple reported is that of the window which decides: the best premise
    window of the worst hypothesis window; among equals the first by window index.

    Args:
        probs: Shape (m, 3), columns entailment, neutral, contradiction; rows in any order.
        pair: Shape (m,), pair of each row, in 0..n-1; every pair has at least one row.
        hypothesis: Shape (m,), hypothesis window of each row.
        premise: Shape (m,), premise window of each row.
        count: n; taken from ``pair`` if None.
    """
    n = int(pair.max()) + 1 if count is None else count
    support = probs[:, 0]
    order = np.lexsort((premise, -support, hypothesis, pair))
    best = order[_first(pair[order], hypothesis[order])]
    order = best[np.lexsort((hypothesis[best], support[best], pair[best]))]
    rows = order[_first(pair[order])]
    if rows.shape[0] != n:
        raise ValueError(f"{n} pairs, windows for {rows.shape[0]}")
    return Combined(probs[rows], rows.astype(np.int64))


def _first(*keys: IntArray) -> npt.NDArray[np.bool_]:
    """Which rows of sorted keys open a new group."""
    new = np.zeros(keys[0].shape[0], dtype=bool)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return new

"""What stands in a changed text where a span stood in the original."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

_TOKEN = re.compile(r"\w+|[^\w\s]")
Opcode = tuple[str, int, int, int, int]


@lru_cache(maxsize=65_536)
def aligned_value(original: str, span: tuple[int, int], given: str) -> str | None:
    """The text that ``given`` has where ``original`` has ``span``; None if it was deleted.

    Both texts are split into words and marks and aligned (Ratcliff and Obershelp); a replaced block
    that reaches beyond the span is read whole.

    Args:
        original: The text as it was.
        span: (start, end) in ``original``.
        given: The text at hand, a near-copy.
    """
    if original == given:
        return original[span[0] : span[1]]
    before = [match.span() for match in _TOKEN.finditer(original)]
    after = [match.span() for match in _TOKEN.finditer(given)]
    first = next((i for i, (_, end) in enumerate(before) if end > span[0]), len(before))
    last = next((i for i, (start, _) in enumerate(before) if start >= span[1]), len(before))
    codes = SequenceMatcher(
        None, [original[a:b] for a, b in before], [given[a:b] for a, b in after], autojunk=False
    ).get_opcodes()
    start, end = _left(codes, first), _right(codes, last)
    if start >= end:
        return None
    return given[after[start][0] : after[end - 1][1]]


@lru_cache(maxsize=262_144)
def is_near_copy(a: str, b: str, least: float) -> bool:
    """Whether at least this share of two texts' words is common, in order (1 for equal texts)."""
    matcher = SequenceMatcher(None, _TOKEN.findall(a), _TOKEN.findall(b), autojunk=False)
    return all(bound() >= least for bound in (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio))


def _left(codes: Sequence[Opcode], position: int) -> int:
    for tag, i1, i2, j1, _ in codes:
        if i1 <= position < i2:
            return j1 + (position - i1) if tag == "equal" else j1
    return codes[-1][4] if codes else 0


def _right(codes: Sequence[Opcode], position: int) -> int:
    for tag, i1, i2, j1, j2 in codes:
        if i1 < position <= i2:
            return j1 + (position - i1) if tag == "equal" else j2
    return 0

"""Tokens of a hop-loop run: one call a search and one for the answer, each shown all evidence so far.

Counted as words and marks of what the call would be shown and would write. This is the bill of an agent with
one model call a step; the reader itself calls no model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from faultline.records import Stage

_TOKEN = re.compile(r"\w+|[^\w\s]")


@lru_cache(maxsize=65_536)
def count(text: str) -> int:
    """Words and marks of a text."""
    return len(_TOKEN.findall(text))


def run_tokens(question: str, stages: Sequence[Stage], kept: int) -> int:
    """Tokens of the calls that made a trace after its kept hops.

    Args:
        question: The question, shown to every call.
        stages: The whole new trace: hops, then the answer.
        kept: Hops that were taken over and cost nothing again (as evidence they are still shown).
    """
    hops, answer = stages[:-1], stages[-1]
    return call_tokens(question, hops, range(kept, len(hops))) + answer_tokens(question, hops, answer)


def call_tokens(question: str, hops: Sequence[Stage], places: Sequence[int]) -> int:
    """Tokens of the search calls at these 0-based places: question and evidence so far in, query out."""
    return sum(count(question) + _evidence(hops[:place]) + count(hops[place].query) for place in places)


def answer_tokens(question: str, hops: Sequence[Stage], answer: Stage) -> int:
    """Tokens of the answer call: question and all evidence in, answer out."""
    return count(question) + _evidence(hops) + count(answer.text)


def _evidence(hops: Sequence[Stage]) -> int:
    """The union of the evidence, documents de-duplicated by id and content."""
    seen = {(hit.passage.id, hit.passage.rendered) for stage in hops for hit in stage.hits}
    return sum(count(text) for _, text in seen)

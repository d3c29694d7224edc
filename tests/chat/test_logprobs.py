"""Alignment by text against a literal search, and the paper's confidence by hand."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.chat.logprobs import aligned, confidence, last_sentence
from faultline.chat.messages import TokenLogprob


def tokens(pieces: list[bytes]) -> list[TokenLogprob]:
    return [TokenLogprob(p.hex(), -float(i + 1)) for i, p in enumerate(pieces)]


@given(st.text(min_size=1, max_size=20), st.lists(st.integers(1, 4), min_size=1), st.booleans())
def test_tokens_may_split_characters_and_carry_a_prefix(
    text: str, sizes: list[int], ascii_only: bool
) -> None:
    body = json.dumps(text, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    pieces, position, turn = [b"\x00prefix"], 0, 0
    while position < len(body):
        size = sizes[turn % len(sizes)]
        pieces.append(body[position : position + size])
        position, turn = position + size, turn + 1
    found = aligned(tokens(pieces), text)
    inner = body[1:-1]
    covered = b"".join(pieces[int(-p) - 1] for p in found)
    assert inner in covered
    assert len(covered) <= len(inner) + 2 * max(sizes)


def test_a_text_that_was_not_generated_has_no_log_probs() -> None:
    assert aligned(tokens([b"abc"]), "xyz") == ()
    assert aligned(tokens([b"abc"]), "") == ()
    assert aligned([], "abc") == ()


def test_confidence_is_the_geometric_mean_probability_clipped() -> None:
    assert confidence([math.log(0.5), math.log(0.125)]) == pytest.approx(0.25)
    assert confidence([-100.0]) == 0.01
    assert confidence([0.0]) == 0.99
    assert confidence([]) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is Ada. So the answer is Bob.", "So the answer is Bob."),
        ("The author is J. Smith.", "The author is J. Smith."),
        ('He said "no." Then he left', "Then he left"),
        ("One sentence", "One sentence"),
        ("", ""),
    ],
)
def test_last_sentence(text: str, expected: str) -> None:
    assert last_sentence(text) == expected

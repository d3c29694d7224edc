from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from faultline.grounding.pairs import Pair, capped, distinct, fraction, held_out, normalised


def make(i, label="entailment", source="a"):
    return Pair(f"premise {i}", f"claim {i}", label, source, "plain", f"g{i}")


def test_the_held_out_rule_is_frozen():
    # Committed values: a change here moves pairs between training and evaluation.
    assert [i for i in range(8) if held_out(f"group-{i}", 0.3)] == [2, 3, 6]


def test_held_out_shares_are_nested_and_near_their_size():
    groups = [str(i) for i in range(4000)]
    small, large = ({g for g in groups if held_out(g, share)} for share in (0.05, 0.2))
    assert small <= large
    assert abs(len(large) / 4000 - 0.2) < 0.02


def test_fractions_are_uniform():
    values = [fraction(str(i)) for i in range(2000)]
    assert abs(np.mean(values) - 0.5) < 0.02


def test_distinct_ignores_case_and_punctuation_and_keeps_the_first():
    first = Pair("A dog.", "It barks", "entailment", "a", "plain", "1")
    same = Pair("a dog", "it barks!", "neutral", "b", "plain", "2")
    assert distinct([first, same, make(1)]) == [first, make(1)]


def test_caps_take_labels_in_equal_parts_and_use_up_the_room():
    pairs = [
        make(i, label)
        for i, label in enumerate(["entailment"] * 50 + ["neutral"] * 10 + ["contradiction"] * 90)
    ]
    kept = capped(pairs, {"a": 60}, seed=0)
    assert Counter(p.label for p in kept) == {"neutral": 10, "entailment": 25, "contradiction": 25}


def test_capping_one_source_does_not_move_another():
    a, b = [make(i) for i in range(30)], [make(i, source="b") for i in range(100, 130)]
    alone = set(capped(a, {"a": 10}, seed=3))
    beside = {p for p in capped([*b, *a], {"a": 10, "b": 5}, seed=3) if p.source == "a"}
    assert alone == beside


@given(st.text(max_size=40))
def test_normalised_is_idempotent(text):
    assert normalised(normalised(text)) == normalised(text)

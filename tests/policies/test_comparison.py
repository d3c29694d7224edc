"""Answers of a comparison from the values that were read."""

import pytest

from faultline.policies.comparison import compare
from faultline.records import Gold, Hop


def gold_of(a, b, answer, kind="year", question_type="comparison"):
    hops = tuple(
        Hop("q", entity, entity, value, (0, 1), kind) for entity, value in (("Left", a), ("Right", b))
    )
    return Gold("t", (answer,), hops, (), question_type)


# annotated values, annotated answer, values read, answer implied
WORKED = [
    ("1902", "1877", "Right", ("1902", "1877"), "Right"),  # the earlier one
    ("1902", "1877", "Right", ("1850", "1877"), "Left"),
    ("1902", "1877", "Left", ("1902", "1877"), "Left"),  # the later one
    ("1902", "1877", "Left", ("1850", "1877"), "Right"),
    ("1850", "1877", "yes", ("1850", "1877"), "yes"),  # was the first before the second?
    ("1850", "1877", "yes", ("1902", "1877"), "no"),
    ("1902", "1877", "no", ("1902", "1877"), "no"),
    ("1902", "1877", "no", ("1850", "1877"), "yes"),
    ("1877", "1877", "yes", ("1877", "1877"), "yes"),  # the same year?
    ("1877", "1877", "yes", ("1877", "1902"), "no"),
    ("12,000", "9,500", "Left", ("12,000", "9,500"), "Left"),
    ("12,000", "9,500", "Left", ("12,000", "95,500"), "Right"),
    ("1902", "1877", "Right", ("about 1850", "1877 or so"), "Left"),
]


@pytest.mark.parametrize(("a", "b", "answer", "read", "implied"), WORKED)
def test_by_hand(a, b, answer, read, implied):
    assert compare(gold_of(a, b, answer), read) == implied


@pytest.mark.parametrize("read", [(None, "1877"), ("1902", None), ("unknown", "1877"), ("", "1877")])
def test_without_two_values_there_is_no_answer(read):
    assert compare(gold_of("1902", "1877", "Right"), read) is None


@pytest.mark.parametrize(
    "gold",
    [
        gold_of("1902", "1877", "Right", question_type="bridge"),
        gold_of("Tarnwick", "Kelmouth", "no", "place"),
        gold_of("Commodore 16", "Prologica CP-400", "no", "entity"),
        gold_of("3 May 1902", "12 May 1877", "Right", "date"),
        gold_of("1902", "1877", "Neither"),
    ],
)
def test_what_is_no_comparison_of_figures_has_no_answer(gold):
    assert compare(gold, [hop.answer for hop in gold.hops]) is None


def test_equal_values_leave_which_one_open():
    assert compare(gold_of("1902", "1877", "Right"), ("1877", "1877")) is None
    assert compare(gold_of("1850", "1877", "yes"), ("1877", "1877")) == "no"


def test_on_the_synthetic_world_the_annotated_values_give_the_annotated_answer(synthetic):
    golds = [g for g in synthetic.gold.values() if g.question_type == "comparison"]
    ordered = [g for g in golds if {h.kind for h in g.hops} <= {"year", "number"}]
    assert len(ordered) >= 10
    for gold in ordered:
        values = [hop.answer for hop in gold.hops]
        assert compare(gold, values) == gold.answers[0]
        if values[0] != values[1]:
            assert compare(gold, values[::-1]) not in (gold.answers[0], None), "exchanged values flip it"

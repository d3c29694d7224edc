import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.grounding.values import answer_kind, contains, find_values, perturbed, replaced


@pytest.mark.parametrize(
    ("answer", "query", "relation", "kind"),
    [
        ("yes", "", "", "yes_no"),
        ("October 5, 1987", "", "", "date"),
        ("1994", "", "", "date"),
        ("13,527", "how many people live there", "", "number"),
        ("two million", "", "", "number"),
        ("Iran", "", "country", "place"),
        ("American", "", "country of citizenship", "nationality"),
        ("Arthur Rosson", "", "director", "person"),
        ("G. Stanley Hall", "Who was the first president of it?", "", "person"),
        ("Tennessee", "Where did he die?", "", "place"),
        ("romance", "What is the genre?", "", "other"),
    ],
)
def test_kinds_by_shape_then_relation_then_question(answer, query, relation, kind):
    assert answer_kind(answer, query, relation) == kind


def test_finds_dates_numbers_and_names_without_overlap():
    text = (
        "Bisse was born on 24 August 1886 in Havana. At the 2006 census 1,938 people lived in New York City."
    )
    found = [(v.text, v.kind) for v in find_values(text)]
    assert found == [
        ("24 August 1886", "date"),
        ("Havana", "name"),
        ("2006", "date"),
        ("1,938", "number"),
        ("New York City", "name"),
    ]


def test_a_name_does_not_run_over_a_sentence_end():
    assert [v.text for v in find_values("He moved to Essex. They followed J. R. Smith there.")] == [
        "Essex",
        "J. R. Smith",
    ]


def test_replaces_whole_words_only_and_every_occurrence():
    assert replaced("Iran borders Iranian Iraq; IRAN.", "Iran", "Chad") == "Chad borders Iranian Iraq; Chad."


def test_a_backslash_in_the_new_value_is_text():
    assert replaced("a b", "a", r"\1") == r"\1 b"


def test_perturbed_changes_the_year_of_a_date_and_leaves_names_alone():
    rng = np.random.default_rng(0)
    near = perturbed("24 August 1886", "date", rng)
    assert near is not None
    assert near.startswith("24 August ")
    assert near != "24 August 1886"
    assert perturbed("Havana", "name", rng) is None


@given(st.text(alphabet="ab 1", max_size=30), st.sampled_from(["a", "ab", "1"]))
def test_after_replacement_the_value_is_gone(text, value):
    assert not contains(replaced(text, value, "z"), value)


@given(st.text(max_size=80))
def test_values_are_slices_in_order(text):
    found = find_values(text)
    assert all(text[v.start : v.end] == v.text for v in found)
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))

"""What stands in a changed text where a span stood."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultline.corpora.donors import Donors
from faultline.corpora.hotpotqa import HotpotQA
from faultline.faults.retrieval import swap
from faultline.policies.alignment import aligned_value, is_near_copy
from faultline.stats import generator

TEXT = "Ada Quill was born in Tarnwick, in the north; Tarnwick is old."
SPAN = (22, 30)


@pytest.mark.parametrize(
    ("given_text", "value"),
    [
        (TEXT, "Tarnwick"),
        ("Ada Quill was born in Kelmouth, in the north; Tarnwick is old.", "Kelmouth"),
        ("Ada Quill was born in Kelmouth, in the north; Kelmouth is old.", "Kelmouth"),
        ("Ada Quill was born in Port St. Anne, in the north; Tarnwick is old.", "Port St. Anne"),
        ("Ivo Marsh was born in Tarnwick, in the north; Tarnwick is old.", "Tarnwick"),
        ("It is said that Ada Quill was born in Tarnwick, in the north.", "Tarnwick"),
        ("Ada Quill was born in, in the north; Tarnwick is old.", None),
        ("", None),
        ("Ada Quill was born in TARNWICK, in the north; Tarnwick is old.", "TARNWICK"),
    ],
)
def test_by_hand(given_text, value):
    assert TEXT[slice(*SPAN)] == "Tarnwick"
    assert aligned_value(TEXT, SPAN, given_text) == value


OLD = st.sampled_from(["red", "ox", "sea", "Ann", "of", ",", "."])
SWAPPED = st.sampled_from(["Tarn", "Wick", "1902"])
NEW = st.sampled_from(["Zorn", "Quor", "99", "Vex-Mar"])


@settings(deadline=None)
@given(
    st.lists(OLD, max_size=6), st.lists(SWAPPED, min_size=1, max_size=3), st.lists(OLD, max_size=6), st.data()
)
def test_a_span_swapped_for_new_words_is_read_whole(before, span, after, data):
    new = " ".join(data.draw(st.lists(NEW, min_size=1, max_size=3)))
    lead = " ".join([*before, ""]) if before else ""
    tail = " ".join(["", *after]) if after else ""
    original = lead + " ".join(span) + tail
    place = (len(lead), len(lead) + len(" ".join(span)))
    assert aligned_value(original, place, original) == " ".join(span)
    assert aligned_value(original, place, lead + new + tail) == new


@given(st.text("ab c.", max_size=20), st.text("ab c.", max_size=20))
def test_a_text_is_a_copy_of_itself_and_any_text_of_nothing_in_common(a, b):
    assert is_near_copy(a, a, 1.0)
    assert is_near_copy(a, b, 0.0)


def test_near_copy_by_hand():
    assert is_near_copy("a b c d", "a b x d", 2 * 3 / 8)
    assert not is_near_copy("a b c d", "a b x d", 2 * 3 / 8 + 1e-9)
    assert not is_near_copy("one two", "three four", 1e-9)


def read_after_swap(corpus):
    """(donor's value, what is read) for every hop that a donor fits."""
    donors = Donors(corpus)
    for task in corpus.tasks:
        own = " ".join(corpus.passages[i].rendered for i in corpus.pools[task.corpus_ref])
        for hop in corpus.gold[task.id].hops:
            rng = generator("test", task.id, hop.query)
            donor = donors.pick(hop.kind, hop.answer, own + task.question, task.id, rng)
            if hop.span is not None and donor is not None:
                original = corpus.passages[hop.passage_id]
                changed, _ = swap(original, hop.answer, donor.value)
                yield donor.value, aligned_value(original.text, hop.span, changed.text)


def test_a_swapped_value_is_read_on_the_synthetic_world(synthetic):
    pairs = list(read_after_swap(synthetic))
    assert len(pairs) > 80 and all(value == read for value, read in pairs)


@pytest.mark.data
def test_a_swapped_value_is_read_on_real_passages(data_dir):
    """Words that old and new value share can be aligned to each other: then a part is read (under 1 %)."""
    name = "hotpot_dev_distractor_migres200.jsonl.gz"
    pairs = list(read_after_swap(HotpotQA([name], folder=str(data_dir)).load()))
    same = sum(value == read for value, read in pairs)
    assert len(pairs) > 300 and same >= 0.99 * len(pairs)

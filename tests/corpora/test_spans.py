"""Finding names in passages, against literal scans."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.corpora.spans import bare_title, find_span, mentions, normalise, occurrences, sentence_at
from faultline.records import Passage


def squad(text):
    """The normalisation of SQuAD's evaluation script."""
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


ascii_text = st.text(string.ascii_letters + string.digits + " .,'-!?()", max_size=40)


@given(ascii_text)
def test_normalise_is_squads_on_plain_text(text):
    assert normalise(text) == squad(text)


@given(st.text(max_size=30))
def test_normalise_is_idempotent(text):
    assert normalise(normalise(text)) == normalise(text)


def test_normalise_by_hand():
    assert normalise('The  "Café", an Inn!') == "café inn"
    assert normalise("“Café”") == "“café”"  # as SQuAD: typographic marks stay
    assert normalise("Anthem") == "anthem"


@pytest.mark.parametrize(
    ("title", "bare"),
    [
        ("Romeo and Juliet (1968 film)", "Romeo and Juliet"),
        ("Plain", "Plain"),
        ("(You Drive Me) Crazy", "(You Drive Me) Crazy"),
        ("(whole)", "(whole)"),
        ("A (b) (c)", "A (b)"),
    ],
)
def test_bare_title(title, bare):
    assert bare_title(title) == bare


def scan(text, needle):
    """Non-overlapping whole-word places, by looking at every position."""
    found, position = [], 0
    while position + len(needle) <= len(text):
        end = position + len(needle)
        word = re.compile(r"\w")
        free = (position == 0 or not word.match(text[position - 1])) and (
            end == len(text) or not word.match(text[end])
        )
        if free and text[position:end].lower() == needle.lower():
            found.append((position, end))
            position = end
        else:
            position += 1
    return found


@given(st.text("ab A.(", max_size=30), st.text("ab A.(", min_size=1, max_size=4))
def test_occurrences_against_a_scan(text, needle):
    assert occurrences(text, needle) == ([] if not needle.strip() else scan(text, needle))


def test_occurrences_are_whole_words():
    assert occurrences("Ann, Anna and ANN-Marie", "Ann") == [(0, 3), (14, 17)]
    assert occurrences("U.S. and U.S.A.", "U.S.") == [(0, 4)]
    assert occurrences("anything", "") == occurrences("anything", "  ") == []


def test_mentions_also_after_normalisation():
    assert mentions("He met Dr. Ada Quill.", "Dr Ada Quill")
    assert mentions("born in Glass Harbour", "The Glass Harbour")
    assert not mentions("Adam Quill", "Ada")
    assert not mentions("text", "") and not mentions("text", "the")


PASSAGE = Passage("p", "T", ("Rome is old.", "", " Rome fell.", " It was Rome, Rome again."))


def test_the_span_in_a_preferred_sentence_comes_first():
    assert find_span(PASSAGE, "Rome") == (0, 4)
    assert find_span(PASSAGE, "Rome", [2]) == (13, 17)
    assert find_span(PASSAGE, "Rome", [3]) == (31, 35)
    assert find_span(PASSAGE, "Rome", [1]) == (0, 4), "a blank sentence holds nothing"
    assert find_span(PASSAGE, "Rome", [9]) == (0, 4), "an index out of range is ignored"
    assert find_span(PASSAGE, "Rom") is None


def test_a_span_across_sentences_is_found_but_not_preferred():
    passage = Passage("p", "", ("Anna M.", " Lee sang. Anna M. Lee left."))
    assert find_span(passage, "M. Lee", [1]) == (23, 29)
    assert find_span(passage, "M. Lee", [0]) == (5, 11)


def test_every_character_belongs_to_its_sentence():
    position = 0
    for sentence in PASSAGE.sentences:
        for _ in sentence:
            assert sentence_at(PASSAGE, position) == sentence.strip()
            position += 1
    assert sentence_at(PASSAGE, 999) == "It was Rome, Rome again."
    assert sentence_at(Passage("p", "", ()), 0) == ""

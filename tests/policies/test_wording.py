"""The reader's sentences are never empty, name what they are about, and end properly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.policies import wording

text = st.text(max_size=15)
word = st.text("abc XYZ.'", min_size=1, max_size=12).filter(str.strip)
notes = st.lists(st.none() | word, max_size=4)


@given(text, text, word, st.sampled_from(["", "possibly", "probably"]), st.booleans())
def test_a_reading_names_its_value(title, sentence, value, hedge, final):
    said = wording.reading(title, sentence, value, hedge, final=final)
    assert said.strip() and said.endswith(f"{hedge} {value}." if hedge else f"is {value}.")
    assert ("So the answer is" in said) >= final


@given(text, word, st.booleans())
def test_an_assertion_is_followed_in_full(assertion, value, final):
    said = wording.following(assertion, value, final=final)
    assert said.startswith(assertion.strip()) and said.endswith(f"is {value}.")


@given(notes, word)
def test_the_next_step_names_what_is_known(known, question):
    said = wording.next_step(known, question)
    last = [note for note in known if note is not None][-1:]
    assert said.strip() and question in said and all(note in said for note in last)


@given(notes, st.lists(text, max_size=3), word)
def test_a_conclusion_names_the_answer_and_the_chain(known, thoughts, answer):
    said = wording.conclusion(known, thoughts, answer)
    assert said.endswith(f"Therefore, the answer is {answer}.") and said == said.strip()
    assert all(note in said for note in known[:-1] if note is not None)


@given(st.none() | word)
def test_the_rest_is_never_empty(entity):
    for said in (wording.not_found(entity), wording.no_answer(), wording.nothing_more()):
        assert said.strip() and said.endswith(".")
    assert entity is None or entity in wording.not_found(entity)


@pytest.mark.parametrize("end", [".", "!", "?", '"'])
def test_a_sentence_is_not_ended_twice(end):
    assert f"It is so{end} So" in wording.reading("T", f" It is so{end} ", "x", "", final=True)


def test_by_hand():
    assert wording.reading("", "It is so", "x", "possibly", final=False) == (
        "According to the passage, It is so. So the next thing to look up is possibly x."
    )
    assert wording.conclusion(["a", "b", "c"], [], "c") == (
        "The first passage leads to a, then b. Therefore, the answer is c."
    )

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from faultline.corpora.sentences import spaced, split_sentences


@given(st.text())
def test_sentences_join_to_the_text(text: str) -> None:
    assert "".join(split_sentences(text)) == text


def test_worked_examples() -> None:
    assert split_sentences('A b. C d! "E" f.') == ("A b.", " C d!", ' "E" f.')
    assert spaced(("A.", "B.", " C.")) == ("A.", " B.", " C.")

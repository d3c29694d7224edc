import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from multihop_cases import FILM, OTHERS

from faultline.grounding import premises


@given(st.integers(0, 2), st.integers(1, 60), st.integers(0, 9))
def test_a_window_is_a_run_of_sentences_that_holds_the_kept_one(keep, limit, seed):
    found = premises.window(FILM, keep, limit, np.random.default_rng(seed))
    assert FILM.sentences[keep] in found.sentences
    assert found.text in FILM.text
    assert len(found.sentences) == 1 or premises.words(found.text) <= limit


def test_without_sentence_drops_exactly_one():
    assert premises.without_sentence(FILM, 1).sentences == (FILM.sentences[0], FILM.sentences[2])


def test_among_others_keeps_the_needed_passage_whole():
    for seed in range(10):
        text = premises.among_others([FILM], OTHERS, 3, np.random.default_rng(seed))
        assert FILM.rendered in text
        assert sum(p.title in text for p in OTHERS) == 2


def test_joined_uses_one_space_in_the_given_order():
    assert premises.joined(OTHERS[:2]) == f"{OTHERS[0].rendered} {OTHERS[1].rendered}"

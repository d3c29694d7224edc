import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.ths import osr


def test_the_lexicons_have_the_sizes_of_the_paper():
    assert (len(osr.REASONING), len(osr.METADATA), len(osr.DISCLAIMERS)) == (14, 14, 22)
    assert len(osr.PRINTED_DISCLAIMERS) == 21
    assert len(set(osr.DISCLAIMERS)) == 22


def test_hand_worked_response():
    text = "Because the source is unverified, confidence is low. Reportedly so; therefore, because."
    # reasoning: because, therefore; metadata: confidence, verified, unverified, source;
    # disclaimers: reportedly, unverified
    assert osr.counts(text) == osr.Counts(2, 4, 2)
    assert osr.osr(text) == pytest.approx(0.4 * 2 / 5 + 0.3 * 1 + 0.3 * 2 / 5)
    assert osr.counts(text, "occurrences").reasoning == 3
    assert osr.counts(text, disclaimers=osr.PRINTED_DISCLAIMERS).disclaimer == 1


def test_clamped_at_both_ends():
    assert osr.osr("") == 0.05
    everything = " ".join((*osr.REASONING, *osr.METADATA, *osr.DISCLAIMERS))
    assert osr.osr(everything) == 0.95


@given(
    st.lists(st.sampled_from([*osr.REASONING, *osr.METADATA, *osr.DISCLAIMERS, "x", "RATING"]), max_size=12)
)
def test_both_readings_against_regular_expressions(words):
    text = " ".join(words)
    for lexicon in (osr.REASONING, osr.METADATA, osr.DISCLAIMERS):
        found = [len(re.findall(re.escape(p), text, re.IGNORECASE)) for p in lexicon]
        assert osr.matched(text, lexicon, "occurrences") == sum(found)
        assert osr.matched(text, lexicon) == sum(n > 0 for n in found)


def test_scores_of_arrays_are_those_of_numbers():
    r, m, d = np.meshgrid(range(7), range(5), range(7))
    whole = osr.score(r, m, d)
    for index in np.ndindex(r.shape):
        raw = 0.4 * min(r[index] / 5, 1) + 0.3 * min(m[index] / 3, 1) + 0.3 * min(d[index] / 5, 1)
        assert whole[index] == pytest.approx(max(0.05, min(raw, 0.95)))

from dataclasses import fields

import numpy as np
import pytest

from faultline.charm.scores import StageScores
from faultline.errors import DataError

from .cases import random_scores


def parts(scores):
    return {f.name: np.array(getattr(scores, f.name)) for f in fields(scores)}


def broken(field, row, column, value):
    arrays = parts(random_scores(0, 6, missing=0.0))
    arrays[field][row, column] = value
    return arrays


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (broken("top1", 3, 2, (0.5, 0.5, 0.5)), ["row 3", "top1", "sum to 1"]),
        (broken("consensus", 2, 1, (0.5, 0.5, np.nan)), ["row 2", "consensus"]),
        (broken("consensus", 2, 1, (1.5, -0.5, 0.0)), ["row 2", "consensus", "[0, 1]"]),
        (broken("top1", 4, 0, (1.0, 0.0, 0.0)), ["row 4", "top1", "stage 1"]),
        (broken("similarity_previous", 1, 0, 1.0), ["row 1", "similarity_previous", "stage 1"]),
        (broken("similarity_mean", 5, 3, 1.1), ["row 5", "similarity_mean", "[-1, 1]"]),
        (broken("confidence", 0, 3, np.inf), ["row 0", "confidence"]),
        (broken("entailment_previous", 2, 4, -0.1), ["row 2", "entailment_previous"]),
        (broken("present", 3, 2, False), ["row 3", "top1", "not present"]),
    ],
)
def test_a_bad_score_names_row_and_field(arrays, said):
    with pytest.raises(DataError) as caught:
        StageScores(**arrays)
    assert all(part in str(caught.value) for part in said)
    assert "\n" not in str(caught.value)


def test_shapes_are_checked():
    arrays = parts(random_scores(0, 6))
    for name in ("top1", "confidence", "states_confidence"):
        with pytest.raises(DataError, match=name):
            StageScores(**{**arrays, name: arrays[name][:4]})
    with pytest.raises(DataError, match="present"):
        StageScores(**{**arrays, "present": arrays["present"][0]})


def test_float32_noise_is_tolerated():
    arrays = parts(random_scores(1, 4, missing=0.0))
    arrays["similarity_first"][0, 1] = 1.0 + 5e-7
    arrays["top1"][1, 2] = (0.5, 0.25, 0.25 + 5e-7)
    assert StageScores(**arrays).n == 4


def test_states_confidence_defaults_to_what_the_row_shows():
    scores = random_scores(2, 40)
    assert np.array_equal(scores.states_confidence, np.isfinite(scores.confidence).any(axis=1))
    arrays = parts(scores)
    arrays["states_confidence"] = np.zeros(40, dtype=bool)
    with pytest.raises(DataError, match="states_confidence"):
        StageScores(**arrays)
    arrays["states_confidence"] = np.ones(40, dtype=bool)
    assert StageScores(**arrays).stated.all()


def test_rows_and_prefixes_keep_the_values():
    scores = random_scores(3, 12)
    for rows in (slice(2, 5), [4, 1, 1], np.arange(12) % 2 == 0):
        taken = scores[rows]
        for field in fields(scores):
            expected = getattr(scores, field.name)[rows]
            assert np.array_equal(getattr(taken, field.name), expected, equal_nan=expected.dtype == float)
    early = scores.until(2)
    assert (early.n, early.stages) == (12, 2)
    assert np.array_equal(early.states_confidence, scores.states_confidence)
    with pytest.raises(DataError, match="stage 6"):
        scores.until(6)
    with pytest.raises(DataError, match="slice"):
        scores[3]


def test_arrays_are_copies_that_cannot_be_written():
    arrays = parts(random_scores(4, 3, missing=0.0))
    scores = StageScores(**arrays)
    arrays["confidence"][:] = 0.0
    assert not (scores.confidence == 0.0).any()
    with pytest.raises(ValueError, match="read-only"):
        scores.top1[0, 1, 0] = 0.0


def test_no_rows_are_valid():
    scores = random_scores(5, 4)
    assert scores[[]].n == scores[0:0].n == 0

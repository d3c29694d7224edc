import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics.pairwise import cosine_similarity

from faultline.charm.cascade_types import CASCADE_TYPES, Profiles, fit_profiles, infer_type, type_names
from faultline.errors import ConfigError, DataError


@given(hnp.arrays(np.float64, (8, 3), elements=st.floats(0, 1, width=32)))
def test_nearest_by_cosine_against_sklearn(signals):
    found = infer_type(signals, Profiles())
    reference = cosine_similarity(signals, np.array(Profiles().vectors))
    for row, index in enumerate(found):
        if not signals[row].any():
            assert index == -1
        elif np.linalg.norm(signals[row]) > 1e-30:
            assert reference[row, index] == pytest.approx(reference[row].max(), abs=1e-12)


def test_table_ii_by_hand():
    signals = np.array([[0.9, 0.1, 0.0], [0.8, 0.7, 0.1], [0.1, 0.9, 0.2], [0.1, 0.2, 0.9], [0, 0, 0]])
    names = type_names(infer_type(signals, Profiles()), Profiles())
    assert names.tolist() == ["retrieval", "inference", "poisoning", "inflation", ""]


def test_absent_signals_count_as_zero_and_ties_go_to_the_earlier_type():
    assert infer_type(np.array([[np.nan, 0.5, np.nan]]), Profiles()).tolist() == [2]
    assert infer_type(np.array([[1.0, 0.0, 1.0]]), Profiles()).tolist() == [0]


def test_profiles_are_recovered_from_many_cases_and_kept_without():
    rng = np.random.default_rng(0)
    truth = np.array([0.2, 0.3, 0.9])
    signals = np.clip(truth + rng.normal(0, 0.02, (2000, 3)), 0, 1)
    fitted = fit_profiles(signals, ["retrieval"] * 2000)
    np.testing.assert_allclose(fitted.vectors[0], truth / np.linalg.norm(truth), atol=0.02)
    assert fitted.names == CASCADE_TYPES
    np.testing.assert_allclose(fitted.vectors[1:], Profiles().units()[1:], atol=1e-15)


def test_shrinkage_by_hand():
    """One case along (0, 1, 0), prior (1, 0, 0) worth one case: the direction is the diagonal."""
    fitted = fit_profiles(np.array([[0.0, 0.3, 0.0]]), ["retrieval"], prior_cases=1.0)
    np.testing.assert_allclose(fitted.vectors[0], [0.5**0.5, 0.5**0.5, 0], atol=1e-15)


def test_the_order_of_cases_does_not_matter():
    rng = np.random.default_rng(1)
    signals, labels = rng.random((300, 3)), rng.choice(CASCADE_TYPES, 300)
    order = rng.permutation(300)
    assert fit_profiles(signals, labels.tolist()) == fit_profiles(signals[order], labels[order].tolist())


def test_cases_that_cannot_be_used():
    silent = fit_profiles(np.array([[0.0, np.nan, 0.0]]), ["inference"])
    np.testing.assert_allclose(silent.vectors, Profiles().units(), atol=1e-15)
    with pytest.raises(ConfigError, match=r"'typo'.*retrieval"):
        fit_profiles(np.ones((1, 3)), ["typo"])
    with pytest.raises(DataError, match="1 labels"):
        fit_profiles(np.ones((2, 3)), ["inference"])

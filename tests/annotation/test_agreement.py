from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.annotation import agreement

ROWS = st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=30)


@given(ROWS)
def test_majority_against_counting(rows):
    for tie in ("median", "none"):
        found = agreement.resolve(rows, tie)
        for row, code in zip(rows, found, strict=True):
            label, n = Counter(row).most_common(1)[0]
            if n >= 2:
                assert code == label
            else:
                assert code == (sorted(row)[1] if tie == "median" else agreement.UNRESOLVED)
    assert agreement.ties(rows).tolist() == [len(set(row)) == 3 for row in rows]


def ordinal_alpha(rows):
    """Krippendorff's ordinal alpha for complete data, from its definition over coincidences."""
    m = len(rows[0])
    coincidences = np.zeros((5, 5))
    for row in rows:
        for i in range(m):
            for j in range(m):
                if i != j:
                    coincidences[row[i], row[j]] += 1 / (m - 1)
    n_c = coincidences.sum(axis=1)
    n = n_c.sum()
    observed = expected = 0.0
    for c in range(5):
        for k in range(5):
            low, high = min(c, k), max(c, k)
            distance = (n_c[low : high + 1].sum() - (n_c[c] + n_c[k]) / 2) ** 2
            observed += coincidences[c, k] * distance
            expected += n_c[c] * n_c[k] * distance
    return 1 - (n - 1) * observed / expected


@given(ROWS)
def test_alpha_against_its_definition(rows):
    found = agreement.alpha(rows)
    if len({code for row in rows for code in row}) < 2:
        assert found is None
    else:
        assert found == pytest.approx(ordinal_alpha(rows), abs=1e-9)


def test_alpha_of_equal_labels_is_undefined():
    assert agreement.alpha([[2, 2, 2]] * 4) is None
    assert agreement.alpha(np.zeros((0, 3), dtype=int)) is None
    assert agreement.pairwise_alpha([[1, 1, 1]], "ABC") == {"A-B": None, "A-C": None, "B-C": None}


def test_rates_never_fold_code_two():
    labels = [0, 1, 2, 3, 4]
    assert agreement.rate(labels, agreement.ENDORSING).value == pytest.approx(0.4)
    assert agreement.rate(labels, agreement.REFUTING).value == pytest.approx(0.4)
    assert agreement.rate([], agreement.ENDORSING).value is None


def test_clusters_of_identical_items_widen_the_interval():
    labels = np.repeat([0, 3, 0, 0, 3, 0, 0, 0], 5)
    rng = np.random.default_rng
    alone = agreement.clustered_rate(labels, (3, 4), range(40), rng(0))
    grouped = agreement.clustered_rate(labels, (3, 4), np.repeat(range(8), 5), rng(0))
    assert grouped.high - grouped.low > 1.5 * (alone.high - alone.low)


def test_another_number_of_coders_is_refused():
    with pytest.raises(ValueError, match="shape"):
        agreement.resolve([[1, 2]], "median")

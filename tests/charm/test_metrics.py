import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix

from faultline.charm import metrics
from faultline.charm.cascade_types import CASCADE_TYPES
from faultline.errors import ConfigError, DataError
from faultline.stats import Estimate

from .cases import plain_scores, random_scores

FLAGS = hnp.arrays(np.bool_, (7, 5))
STAGES = hnp.arrays(np.int64, 7, elements=st.integers(1, 5))


def rng():
    return np.random.default_rng(0)


def literal(flags, i, criterion):
    """Detection stage of one trajectory, from the definitions; flags are 1-based stages in order."""
    if criterion == "strict":
        return flags[0] if flags and flags[0] <= i + 1 else 0
    if criterion == "windowed":
        return next((j for j in flags if i <= j <= i + 1), 0)
    if criterion == "liberal":
        return flags[0] if flags and flags[0] < 5 else 0
    return flags[0] if flags else 0


@pytest.mark.parametrize("criterion", metrics.CRITERIA)
@given(FLAGS, STAGES)
def test_detection_against_the_definitions(criterion, flagged, injected):
    found = metrics.detection_stage(flagged, injected, criterion)
    expected = [literal([j + 1 for j in range(5) if flagged[t, j]], injected[t], criterion) for t in range(7)]
    assert found.tolist() == expected
    rate = metrics.cdr(flagged, injected, criterion)
    assert rate.value == sum(x > 0 for x in expected) / 7
    detected = [x for x in expected if x]
    depth = metrics.cdd(flagged, injected, rng(), criterion)
    assert depth.n == len(detected)
    assert depth.value == (pytest.approx(np.mean(detected)) if detected else None)


def test_a_flag_before_the_injection():
    """Injected at 3, flagged at 1 and 4: strict detects at 1, windowed at 4."""
    flagged = np.array([[True, False, False, True, False]])
    injected = np.array([3])
    assert metrics.detection_stage(flagged, injected, "strict").tolist() == [1]
    assert metrics.detection_stage(flagged, injected, "windowed").tolist() == [4]
    assert metrics.detection_stage(flagged[:, ::-1], injected, "strict").tolist() == [2]


def test_terminal_detectors_score_zero_under_the_papers_rules():
    """Finding 9: flags at s5 only, faults at s1 to s3."""
    flagged = np.zeros((6, 5), dtype=bool)
    flagged[:, 4] = True
    injected = np.array([1, 1, 2, 2, 3, 3])
    for criterion in ("strict", "windowed", "liberal"):
        assert metrics.cdr(flagged, injected, criterion).value == 0.0
    assert metrics.cdd(flagged, injected, rng(), "any").value == 5.0


def test_rates_have_wilson_intervals():
    flagged = np.zeros((20, 5), dtype=bool)
    flagged[:7, 1] = True
    flagged[7:9, 4] = True
    expected = binomtest(9, 20).proportion_ci(method="wilson")
    everything = metrics.fpr(flagged)
    assert (everything.value, everything.n) == (9 / 20, 20)
    assert (everything.low, everything.high) == pytest.approx((expected.low, expected.high))
    assert metrics.fpr_before_output(flagged).value == 7 / 20


def test_empty_input_is_undefined():
    none, stages = np.zeros((0, 5), dtype=bool), np.zeros(0, dtype=np.int64)
    undefined = Estimate(None, None, None, 0)
    assert metrics.cdr(none, stages) == metrics.fpr(none) == metrics.fpr_before_output(none) == undefined
    assert metrics.cdd(none, stages, rng()) == undefined
    assert metrics.cdd(np.zeros((3, 5), dtype=bool), np.ones(3, dtype=np.int64), rng()) == undefined
    assert metrics.msr(np.zeros(3, dtype=bool), np.zeros(3, dtype=bool)) == undefined
    assert metrics.type_accuracy(["retrieval"], [""]) == undefined
    assert set(metrics.routing_shares(np.array(["", ""])).values()) == {undefined}
    assert metrics.epr(np.zeros(0, dtype=bool), np.zeros(0, dtype=bool), rng()) == undefined
    empty = metrics.lemma1(random_scores(0, 3)[0:0], stages, rng())
    assert (empty.transitions, empty.trajectories, empty.n_missing) == (undefined, undefined, 0)


def test_depth_interval_is_clustered_by_question():
    random = np.random.default_rng(3)
    flagged = np.repeat(random.random((40, 5)) < 0.4, 5, axis=0)
    injected = np.full(200, 3)
    questions = np.repeat(np.arange(40), 5).tolist()
    alone = metrics.cdd(flagged, injected, rng())
    clustered = metrics.cdd(flagged, injected, rng(), clusters=questions)
    assert alone.value == clustered.value
    assert clustered.high - clustered.low > 1.5 * (alone.high - alone.low)


def test_epr_by_hand():
    """60 of 100 wrong without, 15 with: 1 - .15 / .6 = .75."""
    without, wrong = np.arange(100) < 60, np.arange(100) < 15
    estimate = metrics.epr(wrong, without, rng())
    assert estimate.value == pytest.approx(0.75)
    assert estimate.low < 0.75 < estimate.high
    assert metrics.epr(wrong, np.zeros(100, dtype=bool), rng()).value is None
    with pytest.raises(DataError, match="pairs"):
        metrics.epr(wrong, without[:50], rng())


def test_msr_counts_detected_only():
    detected = np.array([True, True, True, False])
    assert metrics.msr(np.array([True, True, False, True]), detected).value == 2 / 3


@given(st.lists(st.tuples(st.sampled_from(CASCADE_TYPES), st.sampled_from([*CASCADE_TYPES, ""])), min_size=1))
def test_confusion_against_sklearn(pairs):
    true, found = zip(*pairs, strict=True)
    labels = [*CASCADE_TYPES, ""]
    counts = metrics.type_confusion(true, found)
    assert np.array_equal(counts, confusion_matrix(true, found, labels=labels)[:4])
    flagged = int(counts[:, :4].sum())
    accuracy = metrics.type_accuracy(true, found)
    assert accuracy.n == flagged
    assert accuracy.value == (np.trace(counts[:, :4]) / flagged if flagged else None)


def test_routing_shares_are_of_flagged_trajectories():
    shares = metrics.routing_shares(np.array(["", "CRR", "CRR", "PRR", "HITL", ""]))
    values = {name: share.value for name, share in shares.items()}
    assert values == {"CRR": 0.5, "PVA": 0.0, "PRR": 0.25, "SCT": 0.0, "HITL": 0.25}
    assert shares["CRR"].n == 4


def test_lemma_1_by_hand():
    """Injected at 1: 3 of 4 transitions pass, the trajectory not; at 4: 1 of 1, it passes; at 5: none."""
    scores = plain_scores(
        [[0.1, 0.9, 0.8, 0.72, 0.5], [0.1, 0.1, 0.1, 0.1, 0.9], [0.9] * 5], [[0.5] * 5] * 3, 0.5
    )
    result = metrics.lemma1(scores, np.array([1, 4, 5]), rng())
    assert (result.transitions.value, result.transitions.n) == (pytest.approx(4 / 5), 5)
    assert (result.trajectories.value, result.trajectories.n) == (0.5, 2)
    assert result.n_missing == 1


@given(st.integers(0, 2**32), hnp.arrays(np.int64, 12, elements=st.integers(1, 5)))
def test_lemma_1_against_the_loop(seed, injected):
    scores = random_scores(seed, 12)
    passed = total = whole = kept = 0
    for t in range(12):
        after = [j for j in range(5) if j + 1 > injected[t] and scores.present[t, j]]
        values = [scores.entailment_previous[t, j] for j in after]
        if not values or np.isnan(values).any():
            continue
        kept += 1
        good = sum(v >= 0.72 for v in values)
        passed, total, whole = passed + good, total + len(values), whole + (good == len(values))
    result = metrics.lemma1(scores, injected, rng())
    assert (result.transitions.n, result.trajectories.n, result.n_missing) == (total, kept, 12 - kept)
    assert result.transitions.value == (pytest.approx(passed / total) if total else None)
    assert result.trajectories.value == (whole / kept if kept else None)


def test_wrong_input_is_named():
    flagged = np.zeros((2, 5), dtype=bool)
    with pytest.raises(ConfigError, match=r"'early'.*strict, windowed, liberal, any"):
        metrics.cdr(flagged, np.array([1, 1]), "early")
    with pytest.raises(DataError, match="injected"):
        metrics.cdr(flagged, np.array([0, 1]))
    with pytest.raises(DataError, match="injected"):
        metrics.cdr(flagged, np.array([1]))
    with pytest.raises(ConfigError, match="'wrong'"):
        metrics.type_confusion(["wrong"], ["retrieval"])

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultline.charm.cascade_types import Profiles, infer_type, type_names
from faultline.charm.cpm import CpmSettings
from faultline.charm.decide import CharmSettings, decide
from faultline.charm.sfv import SfvSettings
from faultline.charm.trigger import TriggerSettings

from . import reference
from .cases import every_signal_option, every_trigger_option, plain_scores, random_scores

SIGNAL_OPTIONS = list(every_signal_option())
TRIGGER_OPTIONS = list(every_trigger_option())
ROW_FIELDS = ("first", "cascade_type", "route", "human", "cpm_fallback")


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from(SIGNAL_OPTIONS), st.sampled_from(TRIGGER_OPTIONS))
def test_against_the_loop(seed, signal_options, trigger_options):
    scores = random_scores(seed, 6)
    options = CharmSettings(
        signal_options.sfv,
        signal_options.csct,
        signal_options.cpm,
        trigger_options.trigger,
        trigger_options.routing,
    )
    verdicts = decide(scores, options)
    for t in range(6):
        columns = [
            reference.sfv(scores, t, options.sfv),
            reference.csct(scores, t, options.csct),
            reference.cpm(scores, t, options.cpm, options.sfv.anchor),
        ]
        votes = [reference.vote(stage, options.trigger) for stage in zip(*columns, strict=True)]
        expected = reference.as_numbers([votes])[0]
        np.testing.assert_allclose(verdicts.p[t], expected, rtol=0, atol=1e-9)
        theta, strict = options.trigger.theta, options.trigger.strict
        fired = [p is not None and (p > theta if strict else p >= theta) for p in votes]
        clear = all(p is None or abs(p - theta) > 1e-9 for p in votes)
        if clear:
            assert verdicts.flagged[t].tolist() == fired
            assert verdicts.first[t] == (fired.index(True) + 1 if any(fired) else 0)


@pytest.mark.parametrize("options", [SIGNAL_OPTIONS, TRIGGER_OPTIONS], ids=["signals", "trigger"])
def test_a_row_gives_the_same_bits_alone_as_in_a_batch(options):
    """Every option combination; the odd batch size leaves a remainder to vectorised loops."""
    scores = random_scores(7, 7)
    rows = [scores[[t]] for t in range(scores.n)]
    for option in options:
        batch = decide(scores, option)
        for t, row in enumerate(rows):
            alone = decide(row, option)
            for field in fields(batch):
                whole, single = getattr(batch, field.name)[t], getattr(alone, field.name)[0]
                assert np.asarray(whole).tobytes() == np.asarray(single).tobytes(), (option, field.name)


@pytest.mark.parametrize("options", [SIGNAL_OPTIONS[::7], TRIGGER_OPTIONS], ids=["signals", "trigger"])
def test_later_stages_do_not_change_earlier_ones(options):
    scores = random_scores(8, 9)
    for stage in range(1, 6):
        prefix = scores.until(stage)
        for option in options:
            whole, seen = decide(scores, option), decide(prefix, option)
            for name in ("signals", "p", "flagged", "confidence"):
                cut = np.ascontiguousarray(getattr(whole, name)[:, :stage])
                assert cut.tobytes() == getattr(seen, name).tobytes()
            assert np.array_equal(seen.first, np.where(whole.first <= stage, whole.first, 0))


def test_the_batch_order_and_size_do_not_matter():
    scores = random_scores(9, 501)
    order = np.random.default_rng(0).permutation(501)
    straight, shuffled = decide(scores), decide(scores[order])
    for field in fields(straight):
        expected = np.ascontiguousarray(getattr(straight, field.name)[order])
        assert expected.tobytes() == getattr(shuffled, field.name).tobytes()


def test_by_hand():
    """Stage 3: entailment .1, cosine .1, confidence .9 after .5, .5 (T 1.4, calibrated .5, .5, .828).

    a_sfv = .9, a_csct = (.9 - .18) / .82 = .878, mu = 3 / 6 = .5, a_cpm = (.8277 - .65) / .35 = .508, so
    p = .36 + .3512 + .1015 = .8127: flagged, both above .7, so PVA; confidence .828 >= .8, so HITL.
    """
    scores = plain_scores([[0.9, 0.9, 0.1]], [[0, 0.95, 0.1]], [[0.5, 0.5, 0.9]])
    verdicts = decide(scores)
    np.testing.assert_allclose(verdicts.signals[0, 2], [0.9, 0.72 / 0.82, 0.50772], atol=1e-5)
    np.testing.assert_allclose(verdicts.p[0], [0.04, 0.04, 0.81276], atol=1e-5)
    assert verdicts.first.tolist() == [3]
    assert verdicts.cascade_type.tolist() == ["inference"]
    assert (verdicts.route.tolist(), verdicts.action.tolist()) == (["PVA"], ["HITL"])


def test_absent_stages_never_flag_and_have_no_score():
    scores = random_scores(10, 200, missing=0.4)
    verdicts = decide(scores, CharmSettings(trigger=TriggerSettings(theta=0.0)))
    absent = ~scores.present
    assert np.isnan(verdicts.p[absent]).all()
    assert not verdicts.flagged[absent].any()
    assert np.isnan(verdicts.signals[absent]).all()


def test_type_and_route_are_those_of_the_first_flag():
    scores = random_scores(11, 300)
    verdicts = decide(scores)
    assert 0 < (verdicts.first > 0).sum() < 300
    for t in np.flatnonzero(verdicts.first):
        at = verdicts.signals[t, verdicts.first[t] - 1]
        assert verdicts.cascade_type[t] == type_names(infer_type(at[None], Profiles()), Profiles())[0]
        listed = reference.algorithm_1(int(verdicts.first[t]), *np.nan_to_num(at).tolist())
        assert (True, verdicts.route[t]) == listed
    none = verdicts.first == 0
    for name in ("cascade_type", "route", "action"):
        assert (getattr(verdicts, name)[none] == "").all()
    assert not verdicts.human[none].any()


def test_ablated_components_are_not_in_the_verdict():
    verdicts = decide(random_scores(12, 20), CharmSettings(trigger=TriggerSettings(components=("sfv",))))
    assert np.isnan(verdicts.signals[..., 1:]).all()
    assert (verdicts.first == 0).all()


def test_trajectories_without_any_score_are_missing_not_clean():
    scores = random_scores(13, 50)
    nothing = CharmSettings(sfv=SfvSettings("top1"), trigger=TriggerSettings(components=("sfv",)))
    verdicts = decide(scores, nothing)
    assert np.array_equal(verdicts.scored, np.isfinite(scores.top1[..., 0]).any(axis=1))
    assert not decide(scores[0:0]).scored.size


def test_the_fallback_is_labelled():
    scores = random_scores(14, 60)
    assert np.array_equal(decide(scores).cpm_fallback, ~scores.states_confidence)
    assert decide(scores, CharmSettings(cpm=CpmSettings("contradiction"))).cpm_fallback.all()

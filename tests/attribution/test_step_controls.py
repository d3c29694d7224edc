import numpy as np

from faultline.attribution import step_controls as controls

STEPS, SIZES, GROUPS = [0, 2, 2, 5, 1], [3, 6, 4, 6, 2], ["a", "a", "a", "b", "b"]


def test_constant_last_and_uniform_by_hand():
    assert controls.constant(STEPS, 2).tolist() == [0, 1, 1, 0, 0]
    assert controls.last(STEPS, SIZES).tolist() == [0, 0, 0, 1, 1]
    np.testing.assert_allclose(controls.uniform(SIZES), [1 / 3, 1 / 6, 1 / 4, 1 / 6, 1 / 2])


def test_position_prior_is_a_leave_one_out_vote_within_the_group():
    # a: log 0 sees {2, 2} -> 2, no; log 1 sees {0, 2} -> tie, the earlier, no; log 2 the same.
    # b: log 3 sees {1}, no; log 4 sees {5}, which is beyond its end: no candidate.
    assert controls.position_prior(STEPS, SIZES, GROUPS).tolist() == [0, 0, 0, 0, 0]
    assert controls.position_prior([2, 2, 2], [3, 3, 3], ["a"] * 3).tolist() == [1, 1, 1]


def test_no_named_step_is_never_near():
    assert controls.within([-1, 0, 4], [0, 1, 1], 1).tolist() == [0, 1, 0]

import numpy as np
import pytest

from faultline.ths import cache


def test_hits_misses_and_rate():
    assert cache.use([1, 0, 1, 1]) == cache.CacheUse(3, 1, 0.75)
    assert cache.use([]) == cache.CacheUse(0, 0, None)


def test_cumulative_over_stages():
    assert cache.cumulative([[1, 0], [0, 0], [1, 1]]).tolist() == [1, 1, 3]
    assert cache.cumulative([1, 0, 1]).tolist() == [1, 1, 2]


def test_rolling_rate_against_a_loop():
    flags = np.random.default_rng(0).integers(0, 2, 37)
    expected = [flags[max(0, i - 9) : i + 1].mean() for i in range(37)]
    assert cache.rolling_rate(flags, 10) == pytest.approx(expected)


def test_served_difference():
    assert cache.served_difference([1.0, 3.0, 2.0], [1, 1, 0]) == 0.0
    assert cache.served_difference([1.0, 2.0], [1, 1]) is None

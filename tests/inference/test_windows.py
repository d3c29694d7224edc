from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.errors import ConfigError
from faultline.inference.windows import WindowRule, chunks, combine, pair_windows, uncovered, windows


def test_windows_by_hand():
    assert windows(0, 4, 2) == ((0, 0),)
    assert windows(4, 4, 2) == ((0, 4),)
    assert windows(9, 4, 2) == ((0, 4), (2, 6), (4, 8), (5, 9))
    assert windows(1025, 512, 256) == ((0, 512), (256, 768), (512, 1024), (513, 1025))


@given(st.integers(0, 400), st.integers(1, 60), st.data())
def test_windows_cover_everything_with_full_windows(length, size, data):
    stride = data.draw(st.integers(1, size))
    parts = windows(length, size, stride)
    assert uncovered(length, parts) == 0
    assert all(end - start == min(size, length) for start, end in parts)
    assert len(set(parts)) == len(parts) and list(parts) == sorted(parts)


@given(st.integers(0, 400), st.integers(1, 60))
def test_chunks_partition_the_text(length, size):
    parts = chunks(length, size)
    assert [token for start, end in parts for token in range(start, end)] == list(range(length))
    assert all(0 <= end - start <= size for start, end in parts)


@pytest.mark.parametrize(("size", "stride"), [(0, 1), (4, 5), (4, 0)])
def test_windows_that_would_leave_gaps_are_refused(size, stride):
    with pytest.raises(ConfigError):
        windows(10, size, stride)


@given(st.integers(0, 1500), st.integers(1, 1500), st.integers(8, 512), st.integers(2, 5))
def test_no_token_is_lost_and_every_window_fits(premise, hypothesis, max_tokens, specials):
    rule = WindowRule(size=512, stride=256, min_premise=min(128, (max_tokens - specials) // 2))
    cut = pair_windows(premise, hypothesis, max_tokens, specials, rule)
    assert uncovered(hypothesis, cut.hypothesis) == 0
    assert uncovered(premise, cut.premise) == 0
    longest = max(end - start for start, end in cut.premise) + max(
        end - start for start, end in cut.hypothesis
    )
    assert longest + specials <= max_tokens


def test_pair_that_fits_is_one_input():
    assert pair_windows(200, 309, 512, 3).count == 1


def test_long_hypothesis_leaves_room_for_the_premise():
    cut = pair_windows(1000, 800, 512, 3)
    assert cut.hypothesis[0] == (0, 512 - 3 - 128)
    assert cut.premise[0] == (0, 128) and cut.premise[1] == (64, 192)
    # A short premise needs no more than itself.
    assert pair_windows(20, 800, 512, 3).hypothesis[0] == (0, 512 - 3 - 20)


def test_input_too_short_for_any_hypothesis():
    with pytest.raises(ConfigError, match="leaves no hypothesis"):
        pair_windows(200, 10, 100, 3)


@given(st.data())
def test_combine_agrees_with_a_double_loop(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    rows, expected = [], []
    for pair in range(data.draw(st.integers(1, 5))):
        # Two digits, so that ties occur.
        grid = rng.dirichlet(np.ones(3), size=(rng.integers(1, 4), rng.integers(1, 4))).round(1)
        worst = None
        for h in range(grid.shape[0]):
            best = grid[h, 0]
            for p in range(grid.shape[1]):
                rows.append((pair, h, p, *grid[h, p]))
                if grid[h, p, 0] > best[0]:
                    best = grid[h, p]
            if worst is None or best[0] < worst[0]:
                worst = best
        expected.append(worst)
    table = np.array(rows)[rng.permutation(len(rows))]
    index = table[:, :3].astype(np.int64).T
    combined = combine(table[:, 3:], *index)
    np.testing.assert_array_equal(combined.probs, expected)
    np.testing.assert_array_equal(table[combined.rows, 3:], expected)


def test_combine_of_nothing_is_empty():
    none = np.empty(0, dtype=np.int64)
    assert combine(np.empty((0, 3)), none, none, none, 0).probs.shape == (0, 3)


def test_combine_refuses_a_pair_without_windows():
    with pytest.raises(ValueError, match="2 pairs"):
        combine(np.ones((1, 3)), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64), 2)

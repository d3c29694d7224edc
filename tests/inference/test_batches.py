from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.errors import ConfigError
from faultline.inference.batches import content_key, pad, plan

SETS = st.dictionaries(st.text("abcdef", min_size=1, max_size=4), st.integers(1, 60), max_size=40)


@given(SETS, st.integers(1, 200), st.integers(1, 9))
def test_every_input_is_in_one_batch_under_the_budget(inputs, budget, most):
    keys, lengths = list(inputs), list(inputs.values())
    planned = plan(lengths, keys, budget, most)
    assert sorted(row for batch in planned.batches for row in batch.rows) == list(range(len(keys)))
    for batch in planned.batches:
        assert batch.width == max(lengths[row] for row in batch.rows)
        assert len(batch.rows) <= most
        assert len(batch.rows) == 1 or batch.width * len(batch.rows) <= budget
    assert planned.tokens == sum(lengths)
    assert planned.padded == sum(batch.width * len(batch.rows) for batch in planned.batches)
    assert 0 <= planned.padding_share < 1


@given(SETS, st.randoms(use_true_random=False))
def test_the_plan_depends_on_the_set_alone(inputs, random):
    shuffled = list(inputs.items())
    random.shuffle(shuffled)
    first = plan(list(inputs.values()), list(inputs), 64)
    second = plan([length for _, length in shuffled], [key for key, _ in shuffled], 64)
    assert first.plan_id == second.plan_id
    names = list(inputs)
    assert [[names[row] for row in batch.rows] for batch in first.batches] == [
        [shuffled[row][0] for row in batch.rows] for batch in second.batches
    ]


def test_another_set_or_budget_is_another_plan():
    ids = {
        plan([3, 4], ["a", "b"], 64).plan_id,
        plan([3, 4], ["a", "c"], 64).plan_id,
        plan([3, 5], ["a", "b"], 64).plan_id,
        plan([3, 4], ["a", "b"], 65).plan_id,
        plan([3], ["a"], 64).plan_id,
    }
    assert len(ids) == 5


def test_by_hand():
    planned = plan([2, 9, 3, 2], ["d", "c", "b", "a"], 8)
    assert [(batch.rows, batch.width) for batch in planned.batches] == [((1,), 9), ((2, 3), 3), ((0,), 2)]
    assert planned.padding_share == 1 - 16 / 17


@pytest.mark.parametrize(
    ("keys", "budget", "most"), [(["a", "a"], 9, 9), (["a", "b"], 0, 9), (["a", "b"], 9, 0)]
)
def test_bad_plans_are_refused(keys, budget, most):
    with pytest.raises(ConfigError):
        plan([1, 1], keys, budget, most)


def test_content_key_sees_ids_types_and_their_border():
    one, two = np.array([1, 2], np.int32), np.array([3], np.int32)
    keys = {
        content_key(one),
        content_key(one, two),
        content_key(np.array([1, 2, 3], np.int32)),
        content_key(two),
    }
    assert len(keys) == 4
    assert content_key(one) == content_key(np.array([1, 2], np.int64))


def test_pad():
    assert pad([np.array([1, 2], np.int32), np.array([3], np.int32)], 3, 9).tolist() == [[1, 2, 9], [3, 9, 9]]


def test_pure_files_do_not_import_torch():
    names = ("windows", "batches", "models", "cache", "jobs", "template")
    code = "import sys\n" + "".join(f"import faultline.inference.{name}\n" for name in names)
    code += "sys.exit(any(name in sys.modules for name in ('torch', 'lightning', 'transformers', 'hydra')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

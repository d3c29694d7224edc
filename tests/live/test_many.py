"""A thousand trajectories open in one process, behind a bounded queue, with flat memory."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from faultline.charm.guard import Guard
from faultline.charm.guard_models import Models
from faultline.errors import ConfigError
from faultline.live.batching import MicroBatcher
from faultline.live.watch import Watch
from tests.charm.test_guard import Words, trajectory

OPEN, WORKERS, WAVES, STAGES = 1000, 32, 2, 1


def test_a_thousand_open_trajectories_leave_nothing_behind():
    models = Models(Words(), Words())
    alone = Guard(models)
    expected = [alone.observe(stage).score for stage in trajectory().stages[:STAGES]]
    batcher = MicroBatcher(models, max_jobs=WORKERS, linger_s=0.001, queued=WORKERS)
    watch = Watch("fail_closed", batcher, max_open=OPEN, running=WORKERS, timeout_s=60)
    longest, left = 0, []

    def step(case):
        seen = watch.observe(*case)
        return seen.failure or seen.verdict.score, batcher.waiting

    with ThreadPoolExecutor(WORKERS) as pool:
        for wave in range(WAVES):
            names = [f"{wave}/{i}" for i in range(OPEN)]
            for stage, score in zip(trajectory().stages, expected, strict=False):
                found = list(pool.map(step, [(name, stage) for name in names]))
                assert {said for said, _ in found} == {score}
                longest = max(longest, *(waiting for _, waiting in found))
            assert watch.open_trajectories == OPEN
            guards = [weakref.ref(watch.guard(name)) for name in names]
            for name in names:
                watch.close(name)
            del found
            gc.collect()
            assert not any(guard() for guard in guards)
            del guards
            left.append(len(gc.get_objects()))
    batcher.close()
    assert watch.failures == 0
    assert longest <= WORKERS  # the queue is bounded
    assert batcher.batches < OPEN * STAGES * WAVES / 2  # and its requests are scored together
    assert left[-1] - left[0] < OPEN, left  # less than one object a trajectory


def test_one_more_than_may_be_open_is_a_typed_failure_and_the_others_go_on():
    watch = Watch("fail_open", Models(Words(), Words()), max_open=OPEN)
    stage = trajectory().stages[0]
    for i in range(OPEN):
        watch.guard(str(i))
    assert watch.observe("more", stage).failure == "too_many_open"
    assert watch.observe("0", replace(stage)).failure == ""


def test_at_least_one_judgement_must_be_allowed():
    with pytest.raises(ConfigError, match="running=0"):
        Watch("fail_open", Models(Words(), Words()), running=0)

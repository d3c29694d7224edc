"""Requests of many trajectories are scored together, and each gets its own answer."""

import threading
import time

import numpy as np
import pytest

from faultline.charm.guard import Guard
from faultline.charm.guard_models import Models
from faultline.errors import ConfigError
from faultline.live.batching import BusyError, MicroBatcher
from tests.charm.test_guard import Words, trajectory


def test_verdicts_are_those_of_one_guard_alone():
    models = Models(Words(), Words())
    alone = Guard(models)
    expected = [alone.observe(stage) for stage in trajectory().stages]
    batcher = MicroBatcher(models, linger_s=0.02)
    found = {}

    def work(name):
        guard = Guard(batcher, trajectory=name)
        found[name] = [guard.observe(stage) for stage in trajectory().stages]

    threads = [threading.Thread(target=work, args=(str(i),)) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    batcher.close()
    assert list(found.values()) == [expected] * 40
    assert batcher.batches < 40 * 4  # together, not one by one


def test_one_bad_request_fails_alone():
    class Picky(Words):
        def verify(self, pairs):
            if any("bad" in claim for _, claim in pairs):
                raise ValueError("bad")
            return super().verify(pairs)

    batcher = MicroBatcher(Models(Picky(), Words()), linger_s=0.1)
    out = {}

    def work(word):
        try:
            out[word] = batcher.score([("a b", word)], [word])[0].shape
        except ValueError:
            out[word] = "failed"

    threads = [threading.Thread(target=work, args=(w,)) for w in ("good", "bad", "fine")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert out == {"good": (1, 3), "bad": "failed", "fine": (1, 3)}


def test_a_full_queue_refuses():
    class Slow(Words):
        def verify(self, pairs):
            time.sleep(0.5)
            return super().verify(pairs)

    batcher = MicroBatcher(Models(Slow(), Words()), max_jobs=1, linger_s=0.0, queued=1, wait_s=0.05)
    outcomes = []

    def work():
        try:
            batcher.score([("a", "b")], [])
            outcomes.append("scored")
        except BusyError:
            outcomes.append("busy")

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
        time.sleep(0.01)
    for thread in threads:
        thread.join()
    assert sorted(set(outcomes)) == ["busy", "scored"]
    assert len(outcomes) == 6


def test_closed_is_closed_and_empty_requests_are_answered():
    batcher = MicroBatcher(Models(Words(), Words()))
    pairs, rows = batcher.score([], ["x"])
    assert pairs.shape == (0, 3)
    assert np.isclose(np.linalg.norm(rows[0]), 1)
    assert batcher.score([("a", "b")], [])[1].shape[0] == 0
    batcher.close()
    batcher.close()
    with pytest.raises(BusyError):
        batcher.score([], ["x"])


@pytest.mark.parametrize("wrong", [{"max_jobs": 0}, {"queued": 0}, {"linger_s": -1}, {"wait_s": -1}])
def test_impossible_values_are_refused(wrong):
    with pytest.raises(ConfigError):
        MicroBatcher(Models(Words(), Words()), **wrong)

"""Many open trajectories, one model: their requests wait in a bounded queue and are scored together."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np

from faultline.charm.guard_models import FloatRows, Pair, Scoring
from faultline.charm.scores import FloatArray
from faultline.errors import ConfigError, FaultlineError


class BusyError(FaultlineError):
    """The queue is full, or the batcher is closed: the request was not scored."""


@dataclass(frozen=True, slots=True)
class Job:
    """One guard's request, and where its answer goes."""

    pairs: tuple[Pair, ...]
    texts: tuple[str, ...]
    answer: Future[tuple[FloatArray, FloatRows]] = field(default_factory=Future)


class MicroBatcher:
    """Implements :class:`faultline.charm.guard_models.Scoring` for any number of threads.

    Args:
        models: What scores.
        max_jobs: Requests in a batch at most.
        linger_s: How long the first request of a batch waits for company.
        queued: Requests that may wait; a further one waits ``wait_s`` for room, then is refused.
        wait_s: See ``queued``.

    Raises:
        ConfigError: An impossible value.
    """

    def __init__(
        self,
        models: Scoring,
        *,
        max_jobs: int = 32,
        linger_s: float = 0.005,
        queued: int = 256,
        wait_s: float = 30.0,
    ) -> None:
        if max_jobs < 1 or queued < 1 or linger_s < 0 or wait_s < 0:
            raise ConfigError(
                f"batcher: max_jobs={max_jobs}, queued={queued}: must be at least 1, waits >= 0"
            )
        self.batches = 0
        self._models = models
        self._max_jobs, self._linger, self._wait = max_jobs, linger_s, wait_s
        self._queue: queue.Queue[Job | None] = queue.Queue(maxsize=queued)
        self._closed = threading.Event()
        self._worker = threading.Thread(target=self._run, name="faultline-batcher", daemon=True)
        self._worker.start()

    @property
    def digests(self) -> dict[str, str]:
        """Weight digests by role."""
        return self._models.digests

    @property
    def waiting(self) -> int:
        """Requests in the queue, about."""
        return self._queue.qsize()

    def score(self, pairs: Sequence[Pair], texts: Sequence[str]) -> tuple[FloatArray, FloatRows]:
        """As the models score them, in whatever batch they end up in.

        Raises:
            BusyError: The queue stayed full, or the batcher is closed.
        """
        job = Job(tuple(pairs), tuple(texts))
        if self._closed.is_set():
            raise BusyError("batcher is closed: open a new one")
        try:
            self._queue.put(job, timeout=self._wait)
        except queue.Full as error:
            raise BusyError(
                f"batcher: {self._queue.maxsize} requests wait already; slow down, or raise queued"
            ) from error
        return job.answer.result()

    def close(self) -> None:
        """Score what waits, then stop."""
        if not self._closed.is_set():
            self._closed.set()
            self._queue.put(None)
            self._worker.join()

    def _run(self) -> None:
        while True:
            job = self._queue.get()
            if job is None:
                break
            batch, ends = self._company(job)
            self.batches += 1
            self._answer(batch)
            if ends:
                break
        while not self._queue.empty():
            late = self._queue.get_nowait()
            if late is not None:
                late.answer.set_exception(BusyError("batcher is closed: open a new one"))

    def _company(self, first: Job) -> tuple[list[Job], bool]:
        """Further requests, until the batch is full or the first one has waited long enough."""
        batch, until = [first], time.monotonic() + self._linger
        while len(batch) < self._max_jobs:
            try:
                job = self._queue.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            if job is None:
                return batch, True
            batch.append(job)
        return batch, False

    def _answer(self, batch: Sequence[Job]) -> None:
        try:
            answers = _together(self._models, batch)
        except Exception as error:  # noqa: BLE001 - it belongs to the job that caused it
            if len(batch) == 1:
                batch[0].answer.set_exception(error)
                return
            # One bad request must not fail its neighbours.
            for job in batch:
                self._answer([job])
            return
        for job, answer in zip(batch, answers, strict=True):
            job.answer.set_result(answer)


def _together(models: Scoring, batch: Sequence[Job]) -> list[tuple[FloatArray, FloatRows]]:
    pairs = {pair: i for i, pair in enumerate(dict.fromkeys(p for job in batch for p in job.pairs))}
    texts = {text: i for i, text in enumerate(dict.fromkeys(t for job in batch for t in job.texts))}
    probabilities, rows = models.score(list(pairs), list(texts))
    empty = np.empty((0, rows.shape[1] if rows.ndim == 2 else 0), dtype=np.float32)
    return [
        (
            probabilities[[pairs[p] for p in job.pairs]] if job.pairs else np.empty((0, 3)),
            rows[[texts[t] for t in job.texts]] if job.texts else empty,
        )
        for job in batch
    ]

"""Scoring through a Lightning trainer: its devices and precision, the same plan, forward pass and bits.

Every batch goes to the cache as soon as it is there, joined by content key; Lightning keeps nothing.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import lightning
import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import DataLoader, IterableDataset

from faultline.errors import ConfigError
from faultline.inference.batches import Batch
from faultline.inference.cache import ScoreCache
from faultline.inference.embed import EmbeddingScorer
from faultline.inference.forward import Forward, Inputs, Precision
from faultline.inference.jobs import Job, Progress, cached, store
from faultline.inference.nli import NliScorer

Rows = npt.NDArray[np.float32]
Scorer = TypeVar("Scorer", NliScorer, EmbeddingScorer)

_PRECISIONS: dict[str, Precision] = {"32-true": "fp32", "bf16-mixed": "bf16", "bf16-true": "bf16-true"}


def through(scorer: Scorer, trainer: lightning.Trainer) -> Scorer:
    """The same scorer, computing through a trainer, in the trainer's precision and on its devices.

    Raises:
        ConfigError: A trainer precision that is not supported (fp16 overflows in DeBERTa).
    """
    device = trainer.strategy.root_device.type
    return scorer.on(LightningExecutor(trainer), precision_of(trainer), device)


def precision_of(trainer: lightning.Trainer) -> Precision:
    """The scorer's name of a trainer's precision."""
    stated = str(trainer.precision)
    if stated not in _PRECISIONS:
        raise ConfigError(f"trainer precision {stated}: scoring takes {', '.join(_PRECISIONS)}")
    return _PRECISIONS[stated]


class LightningExecutor:
    """Runs the batches of a job through ``trainer.predict``."""

    def __init__(self, trainer: lightning.Trainer) -> None:
        self.trainer = trainer

    def __call__(
        self, job: Job, forward: Forward, cache: ScoreCache | None, progress: Progress | None
    ) -> Rows:
        """Every row of the job, shape (n, columns)."""
        return predict(job, forward, cache, self.trainer, progress)


def predict(
    job: Job,
    forward: Forward,
    cache: ScoreCache | None,
    trainer: lightning.Trainer,
    progress: Progress | None = None,
) -> Rows:
    """Compute a job through a trainer.

    With several devices each takes every world-size-th batch and all meet in the cache.

    Args:
        job: What to compute.
        forward: The model, in the trainer's precision.
        cache: Where rows go; needed with more than one device.
        trainer: Any trainer; one without logger, checkpoints and progress bar stays silent.
        progress: Called after each batch of this process with (tokens done, tokens in all).

    Returns:
        Shape (n, columns), in the order of the job's keys.

    Raises:
        ConfigError: A precision that does not fit, several devices without a cache, or a trainer that stops
            early (``fast_dev_run``, ``limit_predict_batches``).
    """
    if precision_of(trainer) != forward.precision:
        raise ConfigError(
            f"trainer precision {trainer.precision}, scorer {forward.precision}: set one of them"
        )
    if trainer.world_size > 1 and cache is None:
        raise ConfigError(f"{trainer.world_size} devices need a score cache to meet in; set the cache path")
    writer = BatchWriter(job, cache, forward.columns, progress)
    writer.recall()
    if writer.pending:
        loader = DataLoader(PlannedBatches(job, forward, writer.pending), batch_size=None, num_workers=0)
        with _quiet():
            trainer.predict(PredictModule(job, forward, writer), loader, return_predictions=False)
        if trainer.world_size > 1:
            writer.recall()
    if writer.pending:
        raise ConfigError(
            f"the trainer left {len(writer.pending)} of {len(job.plan.batches)} batches; "
            f"unset fast_dev_run and limit_predict_batches"
        )
    return writer.rows


class PredictModule(lightning.LightningModule):
    """The scorer's forward pass as a prediction step."""

    def __init__(self, job: Job, forward: Forward, writer: BatchWriter) -> None:
        """Wrap the module that computes, so that the trainer places it."""
        super().__init__()
        self.core = forward.core
        self._job = job
        self._forward_pass = forward
        self._writer = writer

    def predict_step(self, batch: tuple[int, Inputs], batch_idx: int) -> tuple[int, Rows]:
        """Rows of one planned batch: (position in the plan, shape (n, columns))."""
        position, inputs = batch
        return position, self._forward_pass.rows(inputs, self._job, self._job.plan.batches[position])

    def on_predict_batch_end(self, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Hand the rows on at once; the trainer keeps none."""
        self._writer.write(*outputs)


class PlannedBatches(IterableDataset[tuple[int, Inputs]]):
    """Padded batches of a plan; each rank takes its share."""

    def __init__(self, job: Job, forward: Forward, pending: Iterable[int]) -> None:
        """Serve the batches at these positions of the plan."""
        self._job = job
        self._forward = forward
        self._pending = sorted(pending)

    def __iter__(self) -> Iterator[tuple[int, Inputs]]:
        rank, world = 0, 1
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
        for position in self._pending:
            # By position in the whole plan: ranks may have seen different states of the cache.
            if position % world == rank:
                yield position, self._forward.inputs(self._job, self._job.plan.batches[position])


class BatchWriter:
    """Takes each batch out of the trainer: into the cache and into the result.

    Attributes:
        rows: Shape (n, columns); complete once ``pending`` is empty.
        pending: Positions of the batches that are not there yet.
    """

    def __init__(self, job: Job, cache: ScoreCache | None, columns: int, progress: Progress | None) -> None:
        """Nothing is there yet."""
        self.rows: Rows = np.empty((len(job.keys), columns), dtype=np.float32)
        self.pending = set(range(len(job.plan.batches)))
        self._job = job
        self._cache = cache
        self._progress = progress
        self._done = 0

    def recall(self) -> None:
        """Take from the cache what is there."""
        for position in sorted(self.pending):
            batch = self._job.plan.batches[position]
            found = cached(self._job, batch, self._cache, self.rows.shape[1])
            if found is not None:
                self._take(position, batch, found)

    def write(self, position: int, rows: Rows) -> None:
        """Keep one computed batch, each row under its content key."""
        batch = self._job.plan.batches[position]
        store(self._job, batch, self._cache, rows)
        self._take(position, batch, rows)

    def _take(self, position: int, batch: Batch, rows: Rows) -> None:
        self.rows[list(batch.rows)] = rows
        self.pending.remove(position)
        self._done += self._job.tokens_of(batch)
        if self._progress is not None:
            self._progress(self._done, self._job.plan.tokens)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Lightning's remarks on workers and samplers out of a run's log; its errors are exceptions."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning")
            yield
    finally:
        logger.setLevel(level)

"""The forward pass of a planned batch: plain scoring and Lightning share it, so both give the same bits."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch

from faultline.errors import ConfigError, ModelError
from faultline.inference.batches import Batch, pad
from faultline.inference.cache import ScoreCache
from faultline.inference.jobs import Job, Progress, cached, store

Precision = Literal["fp32", "bf16", "bf16-true", "int8"]
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "bf16-true", "int8")
"""``bf16`` is autocast over fp32 weights, ``bf16-true`` a copy of the weights in bfloat16 (fp16 overflows),
``int8`` a copy with dynamically quantised linear layers, on CPUs only."""

log = logging.getLogger(__name__)


class Inputs(NamedTuple):
    """One padded batch on the host, shape (n, width) each; ``types`` None if the model takes none."""

    ids: torch.Tensor
    mask: torch.Tensor
    types: torch.Tensor | None


@dataclass(slots=True)
class Forward:
    """A model that maps padded token ids to float32 rows.

    Attributes:
        core: ``core(ids, mask, types)`` gives shape (n, columns), any float type, in ``precision``.
        reference: The same in fp32, for rows that are not finite.
        columns: Values a row.
        pad_id: Token id of padding.
        precision: One of :data:`PRECISIONS`.
        device: Where :meth:`place` puts the model.
        reruns: Rows that had to be computed again in fp32 so far.
    """

    core: torch.nn.Module
    reference: torch.nn.Module
    columns: int
    pad_id: int
    precision: Precision
    device: torch.device
    reruns: int = field(default=0)

    @property
    def where(self) -> str:
        """Precision and kind of device, as the cache names them."""
        return f"{self.precision}@{self.device.type}"

    def place(self) -> None:
        """Put the model on its device (Lightning moves it back to the host after use)."""
        self.core.to(self.device)
        self.core.eval()

    def inputs(self, job: Job, batch: Batch) -> Inputs:
        """Pad one batch."""
        ids = [job.ids[row] for row in batch.rows]
        mask = [np.ones(row.shape[0], dtype=np.int32) for row in ids]
        types = [job.types[row] for row in batch.rows] if job.types else None
        return Inputs(
            torch.from_numpy(pad(ids, batch.width, self.pad_id)),
            torch.from_numpy(pad(mask, batch.width, 0)),
            None if types is None else torch.from_numpy(pad(types, batch.width, 0)),
        )

    def rows(self, inputs: Inputs, job: Job, batch: Batch) -> npt.NDArray[np.float32]:
        """Scores of one batch, shape (n, columns), with one copy to the host.

        Raises:
            ModelError: A row is not finite even in fp32, or the batch does not fit the device.
        """
        try:
            rows = _compute(self.core, inputs, self.precision)
            bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
            if bad.size:
                rows[bad] = self._again(inputs, bad)
        except torch.OutOfMemoryError as error:
            raise ModelError(
                f"a batch of {len(batch.rows)} x {batch.width} tokens is too large here; lower token_budget"
            ) from error
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if bad.size:
            row = batch.rows[int(bad[0])]
            raise ModelError(
                f"{job.kind} {job.origin[row]} (input {job.keys[row][:12]}): scores are not finite in fp32; "
                f"check the checkpoint's weights"
            )
        return rows

    def _again(self, inputs: Inputs, bad: npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
        self.reruns += int(bad.size)
        log.warning("%d rows are not finite in %s, computed again in fp32", bad.size, self.precision)
        part = torch.from_numpy(bad)
        types = None if inputs.types is None else inputs.types.cpu()[part]
        self.reference.to(next(self.core.parameters()).device).eval()
        return _compute(
            self.reference, Inputs(inputs.ids.cpu()[part], inputs.mask.cpu()[part], types), "fp32"
        )


class Execute(Protocol):
    """Computes the rows of a job, in the order of its keys, shape (n, columns)."""

    def __call__(
        self, job: Job, forward: Forward, cache: ScoreCache | None, progress: Progress | None
    ) -> npt.NDArray[np.float32]:
        """Every row, from the cache where a whole batch is there."""
        ...


def execute(
    job: Job, forward: Forward, cache: ScoreCache | None = None, progress: Progress | None = None
) -> npt.NDArray[np.float32]:
    """Compute a job in this process. Each batch is stored as soon as it is there: a killed run resumes."""
    forward.place()
    rows = np.empty((len(job.keys), forward.columns), dtype=np.float32)
    done = 0
    for batch in job.plan.batches:
        found = cached(job, batch, cache, forward.columns)
        if found is None:
            found = forward.rows(forward.inputs(job, batch), job, batch)
            store(job, batch, cache, found)
        rows[list(batch.rows)] = found
        done += job.tokens_of(batch)
        if progress is not None:
            progress(done, job.plan.tokens)
    return rows


def checked_precision(precision: str) -> Precision:
    """A precision by name.

    Raises:
        ConfigError: Unknown.
    """
    for known in PRECISIONS:
        if precision == known:
            return known
    raise ConfigError(f"precision {precision!r}: choose one of {', '.join(PRECISIONS)}")


def in_precision(module: torch.nn.Module, precision: Precision) -> torch.nn.Module:
    """The module to compute with; a copy for ``bf16-true`` and ``int8``, so that the fp32 weights stay."""
    if precision == "int8":
        from faultline.inference.quantise import dynamic_int8

        return dynamic_int8(module)
    return copy.deepcopy(module).to(torch.bfloat16) if precision == "bf16-true" else module


def _compute(module: torch.nn.Module, inputs: Inputs, precision: Precision) -> npt.NDArray[np.float32]:
    device = next(module.parameters()).device
    types = None if inputs.types is None else inputs.types.to(device)
    with torch.inference_mode(), _numerics(device, precision):
        rows = module(inputs.ids.to(device), inputs.mask.to(device), types)
        host: npt.NDArray[np.float32] = rows.float().cpu().numpy().copy()
    return host


@contextmanager
def _numerics(device: torch.device, precision: Precision) -> Iterator[None]:
    """The same numerics whoever calls: an outer trainer may have set autocast or the default type."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16"):
            yield
    finally:
        torch.set_default_dtype(default)

"""Planned sets of distinct model inputs, and their rows in the cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from faultline.inference.batches import Batch, IdArray, Plan, content_key, plan
from faultline.inference.cache import FloatRow, ScoreCache, namespace

Progress = Callable[[int, int], None]
"""Called after each batch with (tokens done, tokens in all)."""


@dataclass(frozen=True, slots=True)
class Job:
    """A planned set of distinct model inputs.

    Attributes:
        kind: ``pair`` or ``text``, for messages.
        keys: Content key of each input.
        ids: Token ids of each input.
        types: Token types of each input; empty if the model takes none.
        origin: Index of the first of the caller's pairs or texts that needs the input.
        namespace: Where the cache keeps the rows.
    """

    kind: str
    keys: tuple[str, ...]
    ids: tuple[IdArray, ...]
    types: tuple[IdArray, ...]
    origin: tuple[int, ...]
    plan: Plan
    namespace: str

    def keys_of(self, batch: Batch) -> list[str]:
        """Content keys of a batch, in its order."""
        return [self.keys[row] for row in batch.rows]

    def tokens_of(self, batch: Batch) -> int:
        """True tokens of a batch."""
        return sum(self.ids[row].shape[0] for row in batch.rows)


class InputSet:
    """Collects distinct model inputs on the way to a job."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._ids: list[IdArray] = []
        self._types: list[IdArray] = []
        self._origin: list[int] = []

    def add(self, ids: IdArray, types: IdArray | None, origin: int) -> int:
        """The row of an input, a new one if no equal input was added before."""
        key = content_key(ids) if types is None else content_key(ids, types)
        row = self._rows.setdefault(key, len(self._ids))
        if row == len(self._ids):
            self._ids.append(ids)
            self._origin.append(origin)
            if types is not None:
                self._types.append(types)
        return row

    def job(self, kind: str, digest: str, precision: str, token_budget: int) -> Job:
        """Plan what was added.

        Args:
            kind: ``pair`` or ``text``.
            digest: Of the weights, whole.
            precision: With the kind of device (``fp32@cpu``).
            token_budget: Padded tokens a batch.
        """
        keys = tuple(self._rows)
        planned = plan([ids.shape[0] for ids in self._ids], keys, token_budget)
        name = namespace(kind, digest, precision, planned.plan_id)
        return Job(kind, keys, tuple(self._ids), tuple(self._types), tuple(self._origin), planned, name)


def cached(job: Job, batch: Batch, cache: ScoreCache | None, columns: int) -> npt.NDArray[np.float32] | None:
    """A batch from the cache, shape (n, columns).

    None unless all of it is there: what is left of a batch would have to be computed in another shape.
    """
    if cache is None:
        return None
    keys = job.keys_of(batch)
    found = cache.get_many(job.namespace, keys)
    if len(found) != len(keys) or any(row.shape != (columns,) for row in found.values()):
        return None
    return np.stack([found[key] for key in keys])


def store(job: Job, batch: Batch, cache: ScoreCache | None, rows: npt.NDArray[np.float32]) -> None:
    """Keep the rows of a batch, each under its content key."""
    if cache is not None:
        entries: dict[str, FloatRow] = dict(zip(job.keys_of(batch), rows, strict=True))
        cache.put_many(job.namespace, entries)

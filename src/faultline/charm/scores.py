"""What the models said about the stages of n trajectories: all that CHARM's decisions are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from faultline.errors import DataError

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

ENTAILMENT, NEUTRAL, CONTRADICTION = 0, 1, 2
"""Positions on the last axis of an anchor's probabilities."""

ANCHORS = ("top1", "consensus")
SIMILARITIES = ("similarity_previous", "similarity_first", "similarity_mean")
TOLERANCE = 1e-6
"""How far probabilities may miss a sum of one, and cosines the range [-1, 1] (float32 models)."""


@dataclass(frozen=True, eq=False)
class StageScores:
    """Scores of n trajectories with up to S stages; stage 1 stands in column 0. NaN is never a score.

    Arrays are copied, contiguous and read-only.

    Attributes:
        present: Shape (n, S), the stages that exist; everything is NaN elsewhere.
        top1: Shape (n, S, 3), entailment, neutral and contradiction of the stage text by the top-1 document;
            NaN at stage 1, which IS that document, and where it could not be scored.
        consensus: Shape (n, S, 3), the same by the consensus of the top k candidates.
        similarity_previous: Shape (n, S), cosine with the previous stage, NaN at stage 1.
        similarity_first: Shape (n, S), cosine with the first stage, NaN at stage 1.
        similarity_mean: Shape (n, S), cosine with the mean of all earlier stages, NaN at stage 1.
        confidence: Shape (n, S), in [0, 1] before calibration, NaN where the backbone gives none.
        entailment_previous: Shape (n, S), P(entailment) of a stage by the stage before it, NaN at stage 1.
        states_confidence: Shape (n,), whether the backbone states confidences at all. Default: some stage of
            the row has one. A live guard must say so, since its first stages may not show it.

    Raises:
        DataError: A wrong shape, a value out of range, or a value where none can be; names field and row.
    """

    present: BoolArray
    top1: FloatArray
    consensus: FloatArray
    similarity_previous: FloatArray
    similarity_first: FloatArray
    similarity_mean: FloatArray
    confidence: FloatArray
    entailment_previous: FloatArray
    states_confidence: BoolArray | None = None

    def __post_init__(self) -> None:
        present = _frozen(np.asarray(self.present, dtype=np.bool_))
        if present.ndim != 2:
            raise DataError(f"scores, field present: shape {present.shape}, expected (trajectories, stages)")
        object.__setattr__(self, "present", present)
        for name in ANCHORS:
            self._keep(name, (*present.shape, 3))
            _check_probabilities(name, getattr(self, name))
        for name in SIMILARITIES:
            self._keep(name, present.shape)
            _check_range(name, getattr(self, name), -1 - TOLERANCE, 1 + TOLERANCE)
        for name in ("confidence", "entailment_previous"):
            self._keep(name, present.shape)
            _check_range(name, getattr(self, name), 0.0, 1.0)
        for name in ("top1", *SIMILARITIES, "entailment_previous"):
            self._check_empty(name, np.arange(present.shape[1]) == 0, "has a value at stage 1, give NaN")
        seen = ~np.isnan(self.confidence).all(axis=1)
        stated = np.asarray(seen if self.states_confidence is None else self.states_confidence, np.bool_)
        if stated.shape != present.shape[:1]:
            raise DataError(f"scores, field states_confidence: shape {stated.shape}, expected ({self.n},)")
        if (seen & ~stated).any():
            row = int((seen & ~stated).argmax())
            raise DataError(f"scores, row {row}, field states_confidence: false, but confidences are given")
        object.__setattr__(self, "states_confidence", _frozen(stated))

    @property
    def n(self) -> int:
        """Number of trajectories."""
        return int(self.present.shape[0])

    @property
    def stages(self) -> int:
        """Number of stages S."""
        return int(self.present.shape[1])

    @property
    def stated(self) -> BoolArray:
        """``states_confidence``, which is always an array once the scores are built."""
        if self.states_confidence is None:
            raise DataError("scores, field states_confidence: missing, build StageScores by its constructor")
        return self.states_confidence

    def __getitem__(self, rows: slice | Sequence[int] | IntArray | BoolArray) -> StageScores:
        """The scores of some trajectories; a slice, a list of indices or a mask."""
        if not isinstance(rows, slice | list | tuple | np.ndarray):
            raise DataError(f"scores, rows {rows!r}: give a slice, indices or a mask, not a single number")
        pick = np.arange(self.n)[list(rows) if isinstance(rows, tuple) else rows]
        return StageScores(**{field.name: getattr(self, field.name)[pick] for field in fields(self)})

    def until(self, stage: int) -> StageScores:
        """The first stages only, as a live guard sees them after ``stage`` (1-based)."""
        if not 1 <= stage <= self.stages:
            raise DataError(f"scores, stage {stage}: give a stage from 1 to {self.stages}")
        cut = {
            f.name: getattr(self, f.name)[:, :stage] for f in fields(self) if f.name != "states_confidence"
        }
        return StageScores(**cut, states_confidence=self.states_confidence)

    def _keep(self, name: str, shape: tuple[int, ...]) -> None:
        array = _frozen(np.asarray(getattr(self, name), dtype=np.float64))
        if array.shape != shape:
            raise DataError(f"scores, field {name}: shape {array.shape}, expected {shape}")
        object.__setattr__(self, name, array)
        self._check_empty(name, ~self.present, "has a value at a stage that is not present, give NaN")

    def _check_empty(self, name: str, where: BoolArray, complaint: str) -> None:
        values = getattr(self, name)
        filled = ~np.isnan(values) if values.ndim == 2 else ~np.isnan(values).all(axis=-1)
        wrong = (filled & where).any(axis=1)
        if wrong.any():
            raise DataError(f"scores, row {int(wrong.argmax())}, field {name}: {complaint}")


def _frozen(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    copy = np.array(array, order="C", copy=True)
    copy.flags.writeable = False
    return copy


def _check_range(name: str, values: FloatArray, low: float, high: float) -> None:
    outside = (values < low) | (values > high)
    wrong = outside.any(axis=tuple(range(1, values.ndim)))
    if wrong.any():
        raise DataError(
            f"scores, row {int(wrong.argmax())}, field {name}: outside [{round(low)}, {round(high)}],"
            " give cosines and probabilities, or NaN"
        )


def _check_probabilities(name: str, values: FloatArray) -> None:
    _check_range(name, values, 0.0, 1.0)
    missing = np.isnan(values)
    total = values[..., 0] + values[..., 1] + values[..., 2]
    wrong = ((np.abs(total - 1.0) > TOLERANCE) | (missing.any(axis=-1) & ~missing.all(axis=-1))).any(axis=1)
    if wrong.any():
        raise DataError(
            f"scores, row {int(wrong.argmax())}, field {name}: entailment, neutral and contradiction"
            " must sum to 1, or all be NaN"
        )

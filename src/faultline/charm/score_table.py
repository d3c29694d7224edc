"""Stage scores as a tidy table, one row a trajectory and stage (``signals.parquet``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from faultline.charm.scores import ANCHORS, SIMILARITIES, StageScores
from faultline.errors import DataError

LABELS = ("entailment", "neutral", "contradiction")
PLAIN = (*SIMILARITIES, "confidence", "entailment_previous")
COLUMNS = (
    "trajectory_id",
    "stage",
    "present",
    "states_confidence",
    *(f"{anchor}_{label}" for anchor in ANCHORS for label in LABELS),
    *PLAIN,
)
"""Columns of the table, in order; ``stage`` counts from 1."""


def to_frame(scores: StageScores, trajectory_ids: Sequence[str]) -> pd.DataFrame:
    """Scores as a table of n * S rows, trajectories in their order, stages ascending.

    Args:
        scores: Of n trajectories.
        trajectory_ids: n distinct ids.

    Raises:
        DataError: The ids are not n, or not distinct.
    """
    if len(trajectory_ids) != scores.n or len(set(trajectory_ids)) != scores.n:
        raise DataError(
            f"scores: {scores.n} trajectories need as many distinct ids, got {len(trajectory_ids)}"
        )
    columns: dict[str, Any] = {
        "trajectory_id": np.repeat(np.asarray(trajectory_ids, dtype=object), scores.stages),
        "stage": np.tile(np.arange(1, scores.stages + 1), scores.n),
        "present": scores.present.ravel(),
        "states_confidence": np.repeat(scores.stated, scores.stages),
    }
    for anchor in ANCHORS:
        for position, label in enumerate(LABELS):
            columns[f"{anchor}_{label}"] = getattr(scores, anchor)[..., position].ravel()
    columns |= {name: getattr(scores, name).ravel() for name in PLAIN}
    return pd.DataFrame(columns, columns=list(COLUMNS))


def from_frame(table: pd.DataFrame, stages: int | None = None) -> tuple[StageScores, tuple[str, ...]]:
    """Scores and trajectory ids from a table; the inverse of :func:`to_frame`.

    A stage without a row is not present.

    Args:
        table: With :data:`COLUMNS`, rows in any order; trajectories keep the order of their first rows.
        stages: S; default the largest stage in the table.

    Raises:
        DataError: A column is missing, a stage is out of range or occurs twice, or scores are not valid.
    """
    absent = [name for name in COLUMNS if name not in table.columns]
    if absent:
        raise DataError(f"signals table: columns {absent} are missing, write it with to_frame")
    codes, ids = pd.factorize(table["trajectory_id"])
    stage = table["stage"].to_numpy(dtype=np.int64)
    width = stages if stages is not None else int(stage.max(initial=0))
    _check_places(table, stage, width)
    shape = (len(ids), width)
    place = (codes, stage - 1)

    def spread(column: str) -> Any:
        logical = column in ("present", "states_confidence")
        array: Any = np.zeros(shape, dtype=np.bool_) if logical else np.full(shape, np.nan)
        array[place] = table[column].to_numpy(dtype=array.dtype)
        return array

    anchors = {a: np.stack([spread(f"{a}_{label}") for label in LABELS], axis=-1) for a in ANCHORS}
    scores = StageScores(
        present=spread("present"),
        states_confidence=spread("states_confidence").any(axis=1),
        **anchors,
        **{name: spread(name) for name in PLAIN},
    )
    return scores, tuple(str(name) for name in ids)


def _check_places(table: pd.DataFrame, stage: Any, width: int) -> None:
    outside = (stage < 1) | (stage > width)
    twice = table.duplicated(subset=["trajectory_id", "stage"]).to_numpy()
    for wrong, complaint in ((outside, f"is outside 1 to {width}"), (twice, "occurs twice")):
        if wrong.any():
            at = int(wrong.argmax())
            name = table["trajectory_id"].iloc[at]
            raise DataError(f"signals table, trajectory {name}, field stage: {stage[at]} {complaint}")

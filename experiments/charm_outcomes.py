"""How each trajectory of a CHARM study ended, beside the accepted answers: for a reader of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson
import pandas as pd

from faultline.agents.trajectories import is_correct
from faultline.records import Gold, Trajectory


def outcomes(trajectories: Sequence[Trajectory], gold: Mapping[str, Gold]) -> pd.DataFrame:
    """One row a trajectory: ``trajectory_id``, ``correct``, ``answers`` (JSON, the canonical one first).

    Args:
        trajectories: Of the study.
        gold: By task id.
    """
    records = [
        {
            "trajectory_id": t.id,
            "correct": is_correct(t, gold[t.task_id]),
            "answers": orjson.dumps(gold[t.task_id].answers).decode(),
        }
        for t in trajectories
    ]
    return pd.DataFrame.from_records(records, columns=["trajectory_id", "correct", "answers"])

"""W&B as a mirror of a run directory: offline by default, decided before init, files inside the run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import pandas as pd

from faultline.codec import key_of
from faultline.errors import ConfigError, StoreError
from faultline.records import Stage, Trajectory

MODES = ("offline", "online", "off")
STAGE_COLUMNS = (
    *("trajectory_id", "task_id", "condition", "sample", "backbone", "question", "fault", "final_answer"),
    *("stage", "kind", "query", "text", "passages", "answer", "confidence", "missing"),
)


@dataclass(frozen=True, slots=True)
class Logged:
    """What of a finished run is logged.

    Attributes:
        config: The composed configuration.
        tables: By name; every row of each arrives.
        summary: Numbers to sort runs by.
        figures: Image files, by their stem.
        trajectories: All of the run; a bounded sample of them is logged.
    """

    config: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]
    summary: Mapping[str, float]
    figures: Sequence[Path] = ()
    trajectories: Sequence[Trajectory] = field(default=())


@dataclass(frozen=True, slots=True)
class Tracking:
    """How a run is mirrored.

    Attributes:
        mode: ``offline``, ``online`` (needs ``WANDB_API_KEY``) or ``off``.
        project: W&B project.
        group: Runs of one sweep share it.
        max_trajectories: Bound of the trajectories that are logged, at least 0.
    """

    mode: str = "offline"
    project: str = "faultline"
    group: str | None = None
    max_trajectories: int = 200

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(f"tracking.mode={self.mode}: choose one of {', '.join(MODES)}")
        bound: object = self.max_trajectories
        if not isinstance(bound, int) or isinstance(bound, bool) or bound < 0:
            raise ConfigError(f"tracking.max_trajectories={bound}: must be a whole number, at least 0")
        if self.mode == "online" and not os.environ.get("WANDB_API_KEY"):
            raise ConfigError(
                "tracking=online needs WANDB_API_KEY in the environment; or use tracking=offline"
            )


def mirror(run_dir: Path, name: str, how: Tracking, what: Logged) -> Path | None:
    """Log a finished run: config, summary, one W&B table for each of ours, figures, trajectories.

    Args:
        run_dir: The run; W&B's files, caches and staged artifacts stay inside its ``wandb`` folder.
        name: The run's name.
        how: Mode, project and group.
        what: The run's content.

    Returns:
        W&B's directory of the run, None if tracking is off.

    Raises:
        StoreError: A table arrived with another number of rows.
    """
    if how.mode == "off":
        return None
    home = run_dir / "wandb"
    home.mkdir(parents=True, exist_ok=True)
    for variable, folder in (("WANDB_DATA_DIR", "data"), ("WANDB_CACHE_DIR", "cache"), ("WANDB_DIR", "")):
        os.environ[variable] = str(home / folder) if folder else str(run_dir)
    os.environ["WANDB_ARTIFACT_DIR"] = str(home / "artifacts")

    import wandb

    settings = wandb.Settings(silent=True, console="off", x_disable_stats=True, disable_git=True)
    stages = stage_table(what.trajectories, how.max_trajectories)
    counts = {
        "trajectories/total": len(what.trajectories),
        "trajectories/logged": int(stages["trajectory_id"].nunique()),
    }
    with wandb.init(
        project=how.project,
        name=name,
        group=how.group,
        mode=cast(Literal["offline", "online"], how.mode),
        dir=str(run_dir),
        config=dict(what.config),
        settings=settings,
    ) as run:
        for label, table in {**what.tables, "trajectories": stages}.items():
            logged = wandb.Table(dataframe=_plain(table))
            if len(logged.data) != len(table):
                raise StoreError(f"W&B table {label}: {len(logged.data)} rows of {len(table)} arrived")
            run.log({label: logged})
        for path in what.figures:
            run.log({f"figure/{path.stem}": wandb.Image(str(path))})
        run.summary.update({**what.summary, **counts})
        return Path(run.dir).parent


def stage_table(trajectories: Sequence[Trajectory], bound: int) -> pd.DataFrame:
    """One row a stage of at most ``bound`` trajectories, in the columns of ``STAGE_COLUMNS``.

    Which ones is decided by a hash of their ids, so that every condition is in the sample and the same run
    logs the same ones again; they stand in the order of their ids.
    """
    by_id = {t.id: t for t in trajectories}
    chosen = sorted(sorted(by_id, key=key_of)[:bound])
    records = [_stage_record(by_id[name], stage) for name in chosen for stage in by_id[name].stages]
    return pd.DataFrame.from_records(records, columns=list(STAGE_COLUMNS))


def _stage_record(trajectory: Trajectory, stage: Stage) -> dict[str, Any]:
    fault = trajectory.certificate
    return {
        "trajectory_id": trajectory.id,
        "task_id": trajectory.task_id,
        "condition": trajectory.condition,
        "sample": trajectory.sample,
        "backbone": trajectory.backbone,
        "question": trajectory.question,
        "fault": f"{fault.fault}@{fault.stage}" if fault else "",
        "final_answer": trajectory.answer,
        "stage": stage.index,
        "kind": stage.kind,
        "query": stage.query,
        "text": stage.text,
        "passages": " | ".join(hit.passage.id for hit in stage.hits),
        "answer": stage.answer,
        "confidence": stage.confidence,
        "missing": None if stage.missing is None else str(stage.missing),
    }


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """Columns as plain objects with None for missing: W&B infers types cell by cell."""
    plain = table.astype(object)
    return plain.where(table.notna(), None)

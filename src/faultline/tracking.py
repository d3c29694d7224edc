"""W&B as a mirror of a run directory: offline by default, decided before init, files inside the run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import pandas as pd

from faultline.errors import ConfigError, StoreError

MODES = ("offline", "online", "off")


def mirror(
    run_dir: Path,
    name: str,
    mode: str,
    project: str,
    config: Mapping[str, Any],
    tables: Mapping[str, pd.DataFrame],
    summary: Mapping[str, float],
    group: str | None = None,
) -> Path | None:
    """Log a finished run: config, summary and one W&B table for each of ours, every row of it.

    Args:
        run_dir: The run; W&B's files, caches and staged artifacts stay inside its ``wandb`` folder.
        name: The run's name.
        mode: ``offline``, ``online`` (needs ``WANDB_API_KEY``) or ``off``.
        project: W&B project.
        config: The composed configuration.
        tables: By name.
        summary: Numbers to sort runs by.
        group: Runs of one sweep share it.

    Returns:
        W&B's directory of the run, None if tracking is off.

    Raises:
        ConfigError: An unknown mode, or online without a key.
        StoreError: A table arrived with another number of rows.
    """
    if mode not in MODES:
        raise ConfigError(f"tracking.mode={mode}: choose one of {', '.join(MODES)}")
    if mode == "off":
        return None
    if mode == "online" and not os.environ.get("WANDB_API_KEY"):
        raise ConfigError("tracking=online needs WANDB_API_KEY in the environment; or use tracking=offline")
    home = run_dir / "wandb"
    home.mkdir(parents=True, exist_ok=True)
    for variable, folder in (("WANDB_DATA_DIR", "data"), ("WANDB_CACHE_DIR", "cache"), ("WANDB_DIR", "")):
        os.environ[variable] = str(home / folder) if folder else str(run_dir)
    os.environ["WANDB_ARTIFACT_DIR"] = str(home / "artifacts")

    import wandb

    settings = wandb.Settings(silent=True, console="off", x_disable_stats=True, disable_git=True)
    with wandb.init(
        project=project,
        name=name,
        group=group,
        mode=cast(Literal["offline", "online"], mode),
        dir=str(run_dir),
        config=dict(config),
        settings=settings,
    ) as run:
        for label, table in tables.items():
            logged = wandb.Table(dataframe=_plain(table))
            if len(logged.data) != len(table):
                raise StoreError(f"W&B table {label}: {len(logged.data)} rows of {len(table)} arrived")
            run.log({label: logged})
        run.summary.update(dict(summary))
        return Path(run.dir).parent


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """Columns as plain objects with None for missing: W&B infers types cell by cell."""
    plain = table.astype(object)
    return plain.where(table.notna(), None)

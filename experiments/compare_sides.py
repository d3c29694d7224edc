"""What can be compared: run directories, sweeps, archives, offline W&B runs, runs on a W&B server."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from faultline.errors import ConfigError
from faultline.reporting import saved_run, units, wandb_files
from faultline.reporting.comparison import ROW, Side
from faultline.results import COLUMNS

ON_A_SERVER = re.compile(r"^[\w.-]+/[\w.-]+/[\w.-]+$")
VALUES = ("backbone", "value", "low", "high", "n_scored", "n_total")


def sides(named: Sequence[str], scratch: Path) -> list[Side]:
    """The sides that the user named, in that order, with distinct names.

    Raises:
        FaultlineError: One of them cannot be read.
    """
    found = [side for number, name in enumerate(named) for side in _sides(name, scratch / str(number))]
    seen: dict[str, int] = {}
    out = []
    for side in found:
        seen[side.name] = seen.get(side.name, 0) + 1
        again = f"{side.name} ({seen[side.name]})" if seen[side.name] > 1 else side.name
        out.append(Side(again, side.config, side.rows, side.units))
    return out


def _sides(name: str, scratch: Path) -> Iterator[Side]:
    path = Path(name)
    if path.suffix == ".wandb" or (path.is_dir() and any(path.glob("*.wandb"))):
        for file in wandb_files.find([path]):
            yield _offline(wandb_files.read(file))
    elif not path.exists() and ON_A_SERVER.match(name):
        yield _online(name)
    else:
        for run in saved_run.opened(path, scratch):
            short = f"{run.experiment}/{run.path.name[:6]}"
            yield Side(short, run.config, run.results, units.units(run))


def _offline(run: wandb_files.OfflineRun) -> Side:
    table = run.tables().get("results")
    rows = _from_numbers(run.numbers) if table is None else _typed(table)
    return Side(f"{run.name or run.id}@wandb", run.config, rows)


def _online(name: str) -> Side:
    if not os.environ.get("WANDB_API_KEY"):
        raise ConfigError(f"{name}: no such folder, and a run on a W&B server needs WANDB_API_KEY")
    import wandb

    try:
        run = wandb.Api(timeout=30).run(name)
        numbers = {k: v for k, v in dict(run.summary).items() if isinstance(v, int | float)}
        config = dict(run.config)
    except (wandb.errors.Error, ValueError) as error:
        raise ConfigError(f"{name}: the W&B server has no such run ({error})") from error
    kept = {k: float(v) for k, v in numbers.items() if not k.startswith("_") and not isinstance(v, bool)}
    return Side(name, config, _from_numbers(kept))


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    out = table.reindex(columns=list(COLUMNS))
    numbers = ["value", "low", "high", "n_total", "n_scored", "n_missing"]
    return out.assign(**{c: pd.to_numeric(out[c]) for c in numbers})


def _from_numbers(numbers: dict[str, float]) -> pd.DataFrame:
    """Rows from a summary's names ``metric/system/dataset/condition``; it holds no interval and no count."""
    rows: list[dict[str, Any]] = []
    for name, value in numbers.items():
        parts = [*name.split("/", 3), "", "", ""][:4]
        rows.append(dict(zip(("metric", "system", "dataset", "condition"), parts, strict=True), value=value))
    empty = {"table": "", "backbone": "", "low": None, "high": None, "n_scored": None, "n_total": None}
    return pd.DataFrame([empty | row for row in rows], columns=[*ROW, *VALUES])

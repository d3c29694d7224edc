"""Sweeps (``-m``): jobs that share stores, a failed one shown at once, one table at the end, resumable.

A job is a run like any other: what it generates, asks and scores is in the shared stores under content keys,
so a sweep over ``charm.trigger.theta`` makes its trajectories and scores once, and a sweep that was killed
goes on when the same command is given again.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pandas as pd
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from faultline.codec import key_of
from faultline.errors import FaultlineError
from faultline.reporting.console import Terminal
from faultline.store import write_file

JOBS = "jobs"
KEYS = ["overrides", "condition"]


def folder_of(given: Sequence[str]) -> Path:
    """The sweep's own folder, named by its command (launcher apart): the same command finds it again."""
    runs = next((a.partition("=")[2] for a in given if a.startswith("runs_dir=")), "runs")
    named = sorted(
        a for a in given if not a.startswith(("-", "runs_dir=", "overwrite=", "tracking", "hydra"))
    )
    return Path(runs).absolute() / "sweeps" / key_of(named)


def job(cfg: DictConfig) -> None:
    """One job, in whatever process the launcher gave it."""
    from hydra.core.hydra_config import HydraConfig

    from experiments.composition import set_options
    from experiments.execution import execute

    runtime = HydraConfig.get()
    overrides = list(runtime.overrides.task)
    name = str(runtime.runtime.choices.get("exp") or cfg.experiment or "")
    folder, number = Path(str(runtime.sweep.dir)), int(runtime.job.num)
    terminal = Terminal()
    OmegaConf.set_struct(cfg, False)
    cfg.tracking.group = f"sweep-{folder.name}"
    try:
        path = execute(cfg, name, set_options(overrides), terminal)
    except FaultlineError as error:
        failed(folder, number, overrides, error, terminal)
    else:
        _write(folder, number, {"overrides": overrides, "experiment": str(cfg.experiment), "path": str(path)})


def failed(
    folder: Path, number: int, overrides: Sequence[str], error: BaseException, terminal: Terminal
) -> None:
    """Show a failed job now, with its overrides, and leave its traceback in a file."""
    place = folder / JOBS / f"{number}.traceback.txt"
    write_file(place, "".join(traceback.format_exception(error)).encode())
    _write(folder, number, {"overrides": list(overrides), "error": str(error), "traceback": str(place)})
    terminal.error(f"job {number} ({' '.join(overrides)}) failed: {error}; traceback in {place}")


class ShowFailures(Callback):
    """Shows a job that died of something unforeseen when it dies, not when the sweep is over."""

    def on_job_end(self, config: DictConfig, job_return: Any, **kwargs: Any) -> None:
        """Called by Hydra in the job's process."""
        error = getattr(job_return, "_return_value", None)
        if isinstance(error, BaseException) and str(config.hydra.mode).endswith("MULTIRUN"):
            overrides = [str(o) for o in config.hydra.overrides.task]
            folder = Path(str(config.hydra.sweep.dir))
            failed(folder, int(config.hydra.job.num), overrides, error, Terminal())


def started(folder: Path) -> None:
    """Forget how the jobs of an earlier try ended; their runs and stores stay."""
    for old in (folder / JOBS).glob("*"):
        old.unlink()


def finished(folder: Path, terminal: Terminal) -> int:
    """Print the comparison of all jobs, and say which ones failed.

    Returns:
        The exit status: 2 if a job failed.
    """
    records = [orjson.loads(p.read_bytes()) for p in sorted((folder / JOBS).glob("*.json"), key=_number)]
    table = comparison([r for r in records if r.get("path") not in (None, "None")])
    if len(table):
        table.to_parquet(folder / "comparison.parquet", index=False)
        shown = table.map(lambda v: "-" if pd.isna(v) else f"{v:.4g}" if isinstance(v, float) else str(v))
        terminal.table(f"{len(records)} jobs", shown)
    for record in records:
        if "error" in record:
            terminal.error(f"failed: {' '.join(record['overrides'])}: {record['error']}")
    terminal.print(folder)
    return 2 if any("error" in record for record in records) else 0


def comparison(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """One line a job and condition, one column a headline metric of the experiment (its ``COMPARE``).

    Args:
        records: Of finished jobs, with ``overrides``, ``experiment`` and ``path``.
    """
    from experiments.catalogue import module_of
    from faultline import results

    common = set.intersection(*(set(r["overrides"]) for r in records)) if len(records) > 1 else set()
    lines = []
    for record in records:
        rows = results.read(Path(record["path"]) / "results.parquet")
        told = " ".join(o for o in record["overrides"] if o not in common)
        for wanted in getattr(module_of(record["experiment"]), "COMPARE", ()):
            fits = (rows[["table", "metric", "system"]] == list(wanted)).all(axis=1)
            lines += [
                {"overrides": told, "condition": r["condition"], "metric": wanted[1], "value": r["value"]}
                for r in rows[fits].to_dict("records")
            ]
    if not lines:
        return pd.DataFrame()
    wide = pd.DataFrame(lines).pivot_table(
        index=KEYS, columns="metric", values="value", sort=False, dropna=False
    )
    return wide.dropna(how="all").reset_index()


def environment() -> None:
    """What the processes of a launcher need to import the experiments: the folder of this package."""
    here = str(Path(__file__).resolve().parents[1])
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    if here not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([here, *paths])


def _write(folder: Path, number: int, record: dict[str, Any]) -> None:
    write_file(folder / JOBS / f"{number}.json", orjson.dumps(record))


def _number(path: Path) -> int:
    return int(path.stem)

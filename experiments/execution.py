"""One run from its configuration to its directory: compute once, write, mirror, print."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from omegaconf import DictConfig, OmegaConf

from experiments.catalogue import CONF, check_options, module_of
from experiments.composition import content
from faultline import results
from faultline.reporting.console import Terminal
from faultline.reporting.run_context import Outcome, RunContext
from faultline.run_dir import RunDir, provenance
from faultline.store import disk_error, write_file
from faultline.tracking import Logged, Tracking, mirror

FILES = ("results.parquet", "timings.json", "manifest.json", "config.yaml")


def execute(cfg: DictConfig, name: str, options: Mapping[str, str], terminal: Terminal) -> Path | None:
    """Run an experiment, or find it finished; prints its table and, last, its directory.

    Args:
        cfg: The composed configuration.
        name: The experiment's name, which is also its folder.
        options: What the user set, to refuse what the experiment would ignore.
        terminal: For a person.

    Returns:
        The run directory; None for a dry run.
    """
    module = module_of(cfg.experiment)
    check_options(module, name, options)
    how = tracking_of(cfg)
    if cfg.dry_run:
        for line in module.plan(cfg):
            terminal.print(line)
        return None
    inputs = {"config": content(cfg), **getattr(module, "inputs", lambda cfg: {})(cfg)}
    run = RunDir(Path(cfg.runs_dir).absolute(), name, inputs)
    with run.locked():
        if run.must_run(cfg.overwrite, FILES):
            _compute(cfg, module, run, inputs, terminal, how)
    _show(module, results.read(run.path / "results.parquet"), terminal)
    terminal.print(run.path)
    return run.path


def tracking_of(cfg: DictConfig) -> Tracking:
    """How the run is mirrored, refused here if it could not work, before anything is computed."""
    return Tracking(**{str(name): value for name, value in cfg.tracking.items()})


def _compute(
    cfg: DictConfig,
    module: ModuleType,
    run: RunDir,
    inputs: Mapping[str, Any],
    terminal: Terminal,
    how: Tracking,
) -> None:
    manifest = {**provenance(CONF.parent), "experiment": run.experiment, "key": run.key, "inputs": inputs}
    config = OmegaConf.to_yaml(cfg, resolve=True)
    with run.working(config, manifest), _logged(run.path / "run.log"):
        context = RunContext(run.path, run.stores, run.experiment, terminal)
        outcome: Outcome = module.run(cfg, context)
        table = results.frame(outcome.rows)
        for stem, extra in outcome.tables.items():
            _write_table(extra, run.path / f"{stem}.parquet")
        results.write(table, run.path / "results.parquet")
        write_file(run.path / "timings.json", orjson.dumps(dict(outcome.timings), option=orjson.OPT_INDENT_2))
        run.write_manifest({**manifest, **outcome.manifest})
        _mirror(cfg, run, how, table, outcome)


def _mirror(cfg: DictConfig, run: RunDir, how: Tracking, table: pd.DataFrame, outcome: Outcome) -> None:
    """Draw the run's figures, and log everything; a run that is not tracked draws nothing."""
    if how.mode == "off":
        return
    from faultline.reporting.run_figures import draw

    plain = OmegaConf.to_container(cfg, resolve=True)
    assert isinstance(plain, dict)
    what = Logged(
        config={str(key): value for key, value in plain.items()},
        tables={"results": table, **_by_table(table), **outcome.tables},
        summary={**_headline(table), **outcome.timings},
        figures=[*outcome.files, *draw(table, run.path / "figures")],
        trajectories=outcome.trajectories,
    )
    mirror(run.path, f"{run.experiment}-{run.key}", how, what)


def _show(module: ModuleType, table: pd.DataFrame, terminal: Terminal) -> None:
    for title, rows in module.summary(table).items():
        terminal.table(title, rows)


def _by_table(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {f"table/{name}": rows.reset_index(drop=True) for name, rows in table.groupby("table", sort=True)}


def _headline(table: pd.DataFrame) -> dict[str, float]:
    """Every value under a readable name, so that runs can be sorted by any of them."""
    scored = table[table["value"].notna()]
    names = scored["metric"] + "/" + scored["system"] + "/" + scored["dataset"] + "/" + scored["condition"]
    return dict(zip(names.str.rstrip("/"), scored["value"].astype(float), strict=True))


def _write_table(table: pd.DataFrame, path: Path) -> None:
    try:
        pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path)
    except OSError as error:
        raise disk_error(error, path) from error


@contextmanager
def _logged(path: Path) -> Iterator[None]:
    """What the rooms log, into the run's own file."""
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("faultline")
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()

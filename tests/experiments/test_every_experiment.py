"""Every file in conf/exp runs on a shrunken configuration, and W&B gets every table and figure of it."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from omegaconf import OmegaConf

from experiments.catalogue import CONF, module_of
from faultline import results
from faultline.reporting import wandb_files
from tests.experiments.conftest import Run

SHRUNK = {"limit": "8", "resamples": "100"}
NAMES = sorted(path.stem for path in (CONF / "exp").glob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_it_runs(name: str, run: Run, tmp_path: Path) -> None:
    raw = OmegaConf.load(CONF / "exp" / f"{name}.yaml")
    needs_data = "synthetic" not in str(raw)
    if needs_data and not os.environ.get("FAULTLINE_DATA_DIR"):
        pytest.skip("FAULTLINE_DATA_DIR is not set: no real data")
    understood = module_of(str(raw.experiment)).OPTIONS
    options = [
        f"{key}={value}" for key, value in {**SHRUNK, **_own(name)}.items() if key.split(".")[0] in understood
    ]
    done = run(f"+exp={name}", *options, f"runs_dir={tmp_path}", "tracking=offline")
    assert done.returncode == 0, done.stderr
    directory = Path(done.stdout.strip().splitlines()[-1])
    table = results.read(directory / "results.parquet")
    assert len(table) > 0
    assert set(table["experiment"]) == {name}
    assert (directory / "DONE").exists()
    assert_mirrored(directory)


def assert_mirrored(directory: Path) -> None:
    """Every table that the run wrote is in its W&B log, row by row, and so is every figure that it drew."""
    (path,) = wandb_files.find([directory])
    logged = wandb_files.read(path)
    arrived = {name: len(table) for name, table in logged.tables().items()}
    written = {p.stem: pq.read_metadata(p).num_rows for p in directory.glob("*.parquet")}
    assert written.items() <= arrived.items()
    by_table = sum(rows for name, rows in arrived.items() if name.startswith("table/"))
    assert by_table == written["results"]
    figures = {f"figure/{p.stem}" for p in directory.rglob("*.png") if "wandb" not in p.parts}
    assert figures <= set(logged.summary)
    assert arrived["trajectories"] == 0 or logged.summary["trajectories/logged"] > 0


def _own(name: str) -> dict[str, str]:
    """What the experiment's header asks for in tests (``# test: limit=2``)."""
    lines = (CONF / "exp" / f"{name}.yaml").read_text().splitlines()
    told = next((line.partition("test:")[2].split() for line in lines if line.startswith("# test:")), [])
    return dict(pair.split("=", 1) for pair in told)

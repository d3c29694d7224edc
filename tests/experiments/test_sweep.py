"""Sweeps: shared work, failures at once, one table, resume, several processes."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import orjson
import pandas as pd
import pytest
from hydra.core.utils import JobReturn, JobStatus
from omegaconf import OmegaConf

from experiments import sweep
from experiments.composition import compose
from faultline import results
from faultline.errors import ConfigError
from faultline.reporting.console import Terminal
from faultline.results import Row
from faultline.wandb_log import logs, records
from tests.experiments.conftest import ROOT, Run, command, environment

SMALL = (
    "-m",
    "+exp=charm_demo",
    "limit=10",
    "resamples=100",
    "policy.trust=1",
    "faults.scope=call",
    "tracking=off",
)


def record(tmp_path: Path, name: str, value: float | None) -> dict[str, object]:
    fixed = {
        "paper": "charm",
        "experiment": "e",
        "dataset": "d",
        "backbone": "b",
        "nli": "n",
        "embedder": "m",
    }
    numbers = {"needs_gold": False, "low": None, "high": None, "unit": "rate", "n_total": 1}
    counts = {"n_scored": int(value is not None), "n_missing": int(value is None)}
    rows = [
        Row(
            table="VI",
            metric=metric,
            system="charm",
            condition="fault=none",
            value=value,
            **fixed,
            **numbers,
            **counts,
        )  # type: ignore[arg-type]
        for metric in ("fpr", "fpr_before_output")
    ]
    (tmp_path / name).mkdir()
    results.write(results.frame(rows), tmp_path / name / "results.parquet")
    overrides = ["+exp=charm_demo", f"charm.trigger.theta={name}"]
    return {"overrides": overrides, "experiment": "charm_eval", "path": str(tmp_path / name)}


def test_the_comparison_has_a_line_a_job_and_a_column_a_headline_metric(tmp_path: Path) -> None:
    table = sweep.comparison([record(tmp_path, "0.4", 0.25), record(tmp_path, "0.5", 0.5)])
    assert list(table["overrides"]) == ["charm.trigger.theta=0.4", "charm.trigger.theta=0.5"]
    assert list(table["fpr"]) == [0.25, 0.5]
    assert "fpr_before_output" not in table


def test_nothing_finished_gives_an_empty_table() -> None:
    assert len(sweep.comparison([])) == 0


def test_a_failed_job_is_shown_with_overrides_and_traceback_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        raise ConfigError("limit=0: must be at least 1")
    except ConfigError as error:
        sweep.failed(tmp_path, 3, ["limit=0"], error, Terminal())
    told = capsys.readouterr().err
    assert "job 3 (limit=0) failed: limit=0: must be at least 1" in told
    assert "ConfigError" in Path(told.rsplit("traceback in ", 1)[1].strip()).read_text()
    assert sweep.finished(tmp_path, Terminal()) == 2


def test_a_job_that_died_of_something_unforeseen_is_shown_by_the_callback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hydra = {
        "mode": "MULTIRUN",
        "overrides": {"task": ["a=1"]},
        "job": {"num": 0},
        "sweep": {"dir": str(tmp_path)},
    }
    died = JobReturn(overrides=["a=1"])
    died.return_value, died.status = ZeroDivisionError("by zero"), JobStatus.FAILED
    sweep.ShowFailures().on_job_end(OmegaConf.create({"hydra": hydra}), died)
    assert "job 0 (a=1) failed: by zero" in capsys.readouterr().err
    [left] = (tmp_path / "jobs").glob("*.json")
    assert orjson.loads(left.read_bytes())["overrides"] == ["a=1"]


def test_the_folder_is_the_commands() -> None:
    base = sweep.folder_of(["-m", "a=1,2", "runs_dir=/r"])
    assert base == sweep.folder_of(
        ["-m", "a=1,2", "runs_dir=/r", "hydra/launcher=processes", "overwrite=always"]
    )
    assert base != sweep.folder_of(["-m", "a=1,3", "runs_dir=/r"])
    assert base.parent == Path("/r/sweeps")


@pytest.mark.parametrize("name", ["processes", "local_queue", "slurm"])
def test_launchers_compose(name: str) -> None:
    from hydra import compose as plain
    from hydra import initialize_config_dir

    from experiments.catalogue import CONF

    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = plain("config", ["+exp=charm_demo", f"hydra/launcher={name}"], return_hydra_config=True)
    assert "launcher" in str(cfg.hydra.launcher._target_)
    assert compose(["+exp=charm_demo"]).tracking.group is None


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["basic", "processes", "local_queue"])
def test_a_sweep_shares_its_work_shows_failures_and_resumes(run: Run, tmp_path: Path, launcher: str) -> None:
    arguments = (
        *SMALL,
        f"runs_dir={tmp_path}",
        f"hydra/launcher={launcher}",
        "charm.trigger.theta=0.4,0.55,7",
    )
    done = run(*arguments)
    assert done.returncode == 2, done.stderr
    assert "charm.trigger.theta=7" in done.stderr
    folder = Path(done.stdout.strip().splitlines()[-1])
    [traceback] = (folder / "jobs").glob("*.traceback.txt")
    assert "ConfigError" in traceback.read_text()
    table = pd.read_parquet(folder / "comparison.parquet")
    assert set(table["overrides"]) == {"charm.trigger.theta=0.4", "charm.trigger.theta=0.55"}
    stored = trajectories(tmp_path)
    assert list(stored.values()) == [10, 10], "one clean and one injected store, made once for all jobs"
    scores = scored(tmp_path)
    assert scores > 0
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("results.parquet")}
    assert len(before) == 2
    again = run(*SMALL, f"runs_dir={tmp_path}", "charm.trigger.theta=0.4,0.55,0.7")
    assert again.returncode == 0, again.stderr
    after = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("results.parquet")}
    assert len(after) == 3
    assert before.items() <= after.items(), "a finished job is not computed again"
    assert stored == {
        p.name: len(p.read_bytes().splitlines()) for p in (tmp_path / "stores").rglob("*.jsonl")
    }
    assert scored(tmp_path) == scores, "another threshold asks for no other score"


def trajectories(runs: Path) -> dict[str, int]:
    """Records of each trajectory store."""
    return {p.name: len(p.read_bytes().splitlines()) for p in (runs / "stores").rglob("*.jsonl")}


def scored(runs: Path) -> int:
    """Scores in the shared cache."""
    with closing(sqlite3.connect(runs / "stores" / "scores.sqlite")) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM scores").fetchone()[0])


@pytest.mark.slow
def test_a_killed_sweep_goes_on_and_its_runs_share_a_group(run: Run, tmp_path: Path) -> None:
    """Killed after its first job: that one is not made again, and nothing is made twice."""
    arguments = (*SMALL[:-1], "tracking=offline", f"runs_dir={tmp_path}", "charm.trigger.theta=0.4,0.55")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command(*arguments), cwd=ROOT, env=environment(), **quiet)
    deadline = time.monotonic() + 400
    while not list(tmp_path.rglob("DONE")) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.wait()
    [first] = [p.parent for p in tmp_path.rglob("DONE")]
    written = (first / "results.parquet").stat().st_mtime_ns
    lines = {p: p.read_bytes() for p in (tmp_path / "stores").rglob("*.jsonl")}
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert (first / "results.parquet").stat().st_mtime_ns == written
    assert {p: p.read_bytes() for p in (tmp_path / "stores").rglob("*.jsonl")} == lines
    folder = Path(done.stdout.strip().splitlines()[-1])
    assert len(pd.read_parquet(folder / "comparison.parquet")["overrides"].unique()) == 2
    finished = [p.parent for p in tmp_path.rglob("DONE")]
    assert len(finished) == 2
    groups = {
        record.run.run_group
        for path in finished
        for record in records(logs(path)[-1])
        if record.WhichOneof("record_type") == "run"
    }
    assert groups == {f"sweep-{folder.name}"}


def test_the_slurm_launcher_asks_for_one_job_each() -> None:
    from hydra import compose as plain
    from hydra import initialize_config_dir

    from experiments.catalogue import CONF

    wanted = ["+exp=charm_demo", "hydra/launcher=slurm", "hydra.launcher.partition=long"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        launcher = plain("config", wanted, return_hydra_config=True).hydra.launcher
    assert launcher._target_.endswith("SlurmLauncher")
    told = {name: launcher[name] for name in ("partition", "timeout_min", "cpus_per_task", "mem_gb")}
    assert told == {"partition": "long", "timeout_min": 1440, "cpus_per_task": 4, "mem_gb": 16}
    assert launcher.array_parallelism == 16


def test_the_flag_may_stand_anywhere(run: Run, tmp_path: Path) -> None:
    """As the experiments' headers write it: the flag between the experiment and what is swept."""
    done = run("+exp=charm_demo", "-m", "limit=0,-1", f"runs_dir={tmp_path}", "tracking=off")
    assert "unrecognized arguments" not in done.stderr
    assert done.stderr.count("limit=") >= 2
    assert len(list(tmp_path.rglob("*.traceback.txt"))) == 2

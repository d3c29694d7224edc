"""Offline W&B files: what a real run logged is read back, in whatever place it lies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from experiments import compare, wandb_runs
from faultline import results
from faultline.errors import ConfigError, StoreError
from faultline.reporting import wandb_files
from faultline.results import Row
from faultline.tracking import Logged, Tracking, mirror


def table(value: float) -> pd.DataFrame:
    row = ("charm", "e", "VI", "cdr_strict", "charm", "d", "fault=x", "reader", "n", "e", False)
    return results.frame([Row(*row, value, 0.1, 0.9, "rate", 10, 9, 1, "missing: no_span=1")])


@pytest.fixture(scope="module")
def logged(tmp_path_factory) -> Path:
    """Two real offline runs, one with a text longer than a block of the file."""
    root = tmp_path_factory.mktemp("runs")
    for number, value in enumerate((0.25, 0.75)):
        home = root / str(number)
        home.mkdir()
        config = {"seed": number, "charm": {"theta": 0.5}, "long": "é" * 70_000}
        tables = {"results": table(value), "table/VI": table(value)}
        what = Logged(config, tables, {"cdr/charm/d": value})
        mirror(home, f"run-{number}", Tracking("offline", "p", "g"), what)
    return root


def test_everything_that_was_logged_is_read(logged):
    runs = [wandb_files.read(path) for path in wandb_files.find([logged])]
    assert [run.name for run in runs] == ["run-0", "run-1"]
    assert all(run.finished and run.project == "p" and run.group == "g" for run in runs)
    assert runs[1].config == {"seed": 1, "charm": {"theta": 0.5}, "long": "é" * 70_000}
    assert runs[1].numbers["cdr/charm/d"] == 0.75
    read = runs[1].tables()["results"]
    assert read["value"].tolist() == [0.75]
    assert list(read.columns) == list(results.COLUMNS)
    assert wandb_files.listing(runs)["tables"].min() >= 2


def test_a_folder_that_was_moved_still_has_its_tables(logged, tmp_path):
    moved = tmp_path / "another machine"
    shutil.copytree(logged / "0" / "wandb", moved)
    (path,) = wandb_files.find([moved])
    run = wandb_files.read(path)
    assert len(run.tables()["table/VI"]) == 1
    for lost in moved.rglob("*.table.json"):
        lost.unlink()
    with pytest.raises(StoreError, match="copy the whole wandb folder"):
        run.tables()


def test_a_torn_end_is_the_end_and_a_broken_middle_is_an_error(logged, tmp_path):
    whole = wandb_files.find([logged / "0"])[0].read_bytes()
    torn = tmp_path / "torn.wandb"
    torn.write_bytes(whole[:-9])
    assert not wandb_files.read(torn).finished
    broken = bytearray(whole)
    broken[7 + 7 + 5] ^= 0xFF
    torn.write_bytes(bytes(broken))
    with pytest.raises(StoreError, match="record at byte 7 is damaged"):
        wandb_files.read(torn)
    torn.write_bytes(b"hello world")
    with pytest.raises(StoreError, match="is no W&B file"):
        wandb_files.read(torn)


def test_the_verbs(logged, tmp_path, capsys):
    assert wandb_runs.main([str(logged), "--tables"]) == 0
    assert "2 offline runs" in capsys.readouterr().out
    files = [str(path) for path in wandb_files.find([logged])]
    assert compare.main([*files, "--out", str(tmp_path / "c")]) == 0
    told = capsys.readouterr().out
    assert "0.25 [0.1, 0.9] n=9" in told and "0.75 [0.1, 0.9] n=9" in told
    assert pd.read_csv(tmp_path / "c" / "config.csv")["key"].tolist() == ["seed"]
    assert not (tmp_path / "c" / "paired.csv").exists()  # a W&B run holds no single cases
    assert wandb_runs.main([str(tmp_path / "none")]) == 2
    assert compare.main([files[0]]) == 2
    assert compare.main(["me/project/abc", files[0]]) == 2
    assert "WANDB_API_KEY" in capsys.readouterr().err


def test_nothing_there_is_one_line(tmp_path):
    with pytest.raises(ConfigError, match=r"holds no \.wandb file"):
        wandb_files.find([tmp_path])

"""The demo experiment end to end, with the real embedded models, as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from faultline import results
from faultline.charm.decide import decide
from faultline.charm.score_table import from_frame
from tests.experiments.conftest import ROOT, Run, command, environment

SMALL = ("+exp=charm_demo", "limit=14", "resamples=200")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One undisturbed run; its directory is the last line that it prints."""
    root = tmp_path_factory.mktemp("runs")
    done = subprocess.run(
        command(*SMALL, f"runs_dir={root}"),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip().splitlines()[-1])


def test_a_run_leaves_its_files_and_says_where(finished: Path) -> None:
    names = {path.name for path in finished.iterdir()}
    expected = {"config.yaml", "manifest.json", "results.parquet", "signals.parquet", "timings.json", "DONE"}
    assert expected <= names
    manifest = json.loads((finished / "manifest.json").read_text())
    assert manifest["models"]["nli"]["sha256"]
    assert set(manifest["label2id"]) == {"entailment", "neutral", "contradiction"}
    assert manifest["data"]["name"] == "synthetic"
    assert all((finished.parents[1] / "stores" / name).exists() for name in manifest["stores"])


def test_the_results_table_holds_every_promised_number(finished: Path) -> None:
    table = results.read(finished / "results.parquet")
    assert list(table.columns) == list(results.COLUMNS)
    main = table[table["table"] == "VI"]
    assert {"cdr_strict", "cdr_windowed", "cdr_liberal", "fpr", "cdd", "epr", "msr"} <= set(main["metric"])
    assert {"charm", "never", "always", "per_step"} <= set(main["system"])
    trusts = {part for c in main["condition"] for part in c.split(";") if part.startswith("trust=")}
    assert trusts == {"trust=0", "trust=0.5", "trust=1"}
    not_run = main[main["metric"].isin(["epr", "msr"])]
    assert not_run["value"].isna().all()
    assert not_run["note"].str.contains("not_run").all()
    always = main[(main["system"] == "always") & main["metric"].isin(["cdr_strict", "fpr"])]
    assert (always["value"] == 1.0).all()
    never = main[(main["system"] == "never") & main["metric"].isin(["cdr_strict", "fpr"])]
    assert (never["value"] == 0.0).all()
    assert set(table["backbone"]) == {"reader"}
    assert not table["needs_gold"].any()


def test_rows_can_be_recomputed_from_the_signals(finished: Path) -> None:
    import pandas as pd

    table = results.read(finished / "results.parquet")
    scores, names = from_frame(pd.read_parquet(finished / "signals.parquet"))
    flagged = decide(scores).flagged
    condition = "fault=none;trust=1"
    clean = [f"/{condition}/" in name for name in names]
    row = table[(table["metric"] == "fpr") & (table["system"] == "charm") & (table["condition"] == condition)]
    assert int(row["n_scored"].iloc[0]) == sum(clean)
    assert row["value"].iloc[0] == pytest.approx(np.mean([bool(f.any()) for f in flagged[clean]]))


def test_clean_and_injected_questions_are_disjoint(finished: Path) -> None:
    manifest = json.loads((finished / "manifest.json").read_text())
    parts = [name.split("/") for name in manifest["trajectories"]]
    clean = {task for _, task, condition, _ in parts if condition == "fault=none;trust=1"}
    injected = {task for _, task, condition, _ in parts if condition == "fault=retrieval;scope=call;trust=1"}
    assert clean
    assert injected
    assert not clean & injected


def test_a_finished_run_returns_at_once_with_the_same_table(finished: Path, run: Run) -> None:
    before = {p: p.stat().st_mtime_ns for p in finished.iterdir() if p.is_file() and p.name != ".lock"}
    again = run(*SMALL, f"runs_dir={finished.parents[1]}")
    assert again.returncode == 0, again.stderr
    assert Path(again.stdout.strip().splitlines()[-1]) == finished
    assert {p: p.stat().st_mtime_ns for p in before} == before


def test_wandb_holds_every_row_of_every_table(finished: Path) -> None:
    table = results.read(finished / "results.parquet")
    [media] = [p for p in (finished / "wandb").rglob("table") if p.is_dir() and p.parent.name == "media"]
    logged = {path: json.loads(path.read_text()) for path in media.rglob("*.table.json")}
    sizes = [len(content["data"]) for path, content in logged.items() if path.name.startswith("results_")]
    assert sizes == [len(table)]
    rows = sum(len(content["data"]) for path, content in logged.items() if path.parent != media)
    assert rows == len(table)
    outside = [p for p in (finished / "wandb").rglob("*") if p.is_symlink() and not p.resolve().exists()]
    assert outside == []


def test_overwrite_always_gives_the_same_bytes(finished: Path, run: Run) -> None:
    before = (finished / "results.parquet").read_bytes(), (finished / "signals.parquet").read_bytes()
    again = run(*SMALL, f"runs_dir={finished.parents[1]}", "overwrite=always", "tracking=off")
    assert again.returncode == 0, again.stderr
    assert (
        (finished / "results.parquet").read_bytes(),
        (finished / "signals.parquet").read_bytes(),
    ) == before


def test_killed_anywhere_and_repeated_the_bytes_are_those_of_an_undisturbed_run(
    finished: Path, tmp_path: Path, run: Run
) -> None:
    arguments = (*SMALL, f"runs_dir={tmp_path}", "tracking=off")
    for seconds in (2.0, 4.0, 6.0, 8.0):
        process = subprocess.Popen(
            command(*arguments), cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    resumed = Path(done.stdout.strip().splitlines()[-1])
    for name in ("results.parquet", "signals.parquet"):
        assert (resumed / name).read_bytes() == (finished / name).read_bytes()
    stores = sorted((tmp_path / "stores" / "trajectories").glob("*.jsonl"))
    undisturbed = finished.parents[1] / "stores" / "trajectories"
    assert stores
    for store in stores:
        assert store.read_bytes() == (undisturbed / store.name).read_bytes()


def test_repeats_are_reported_as_mean_and_sd(tmp_path: Path, run: Run) -> None:
    done = run(*SMALL, f"runs_dir={tmp_path}", "repeats=2", "policy.trust=1", "tracking=off")
    assert done.returncode == 0, done.stderr
    table = results.read(Path(done.stdout.strip().splitlines()[-1]) / "results.parquet")
    repeated = table[table["condition"].str.endswith("repeats=2")]
    assert set(repeated["table"]) == {"VI", "VII"}
    assert (repeated["n_total"] == 2).all()
    row = repeated[(repeated["metric"] == "cdr_strict") & (repeated["system"] == "always")]
    assert (row["value"] == 1.0).all()
    assert (row["low"] == 1.0).all()


def test_paired_adds_both_conditions_of_every_eligible_question(tmp_path: Path, run: Run) -> None:
    done = run(*SMALL, f"runs_dir={tmp_path}", "paired=true", "policy.trust=1", "tracking=off")
    assert done.returncode == 0, done.stderr
    table = results.read(Path(done.stdout.strip().splitlines()[-1]) / "results.parquet")
    eligible = int(table[table["metric"] == "eligible"]["n_scored"].iloc[0])
    paired = table[(table["table"] == "paired") & table["condition"].str.contains("scope=call")]
    assert (paired["n_scored"] == eligible).all()
    by = paired[paired["system"] == "charm"].set_index("metric")["value"]
    gain = by["early_flag_injected"] - by["early_flag_clean"]
    assert by["early_flag_gain"] == pytest.approx(gain)

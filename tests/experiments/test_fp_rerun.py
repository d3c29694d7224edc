"""Paper 2's re-run, end to end on the synthetic world."""

from __future__ import annotations

from pathlib import Path

from faultline import results
from tests.experiments.conftest import Run

SMALL = ("+exp=fp_exactness", "limit=16", "fp.depths=[1,2,3]", "resamples=50", "tracking=off")


def test_a_new_panel_generates_no_trace(run: Run, tmp_path: Path) -> None:
    first = run(*SMALL, f"runs_dir={tmp_path}")
    assert first.returncode == 0, first.stderr
    table = results.read(Path(first.stdout.strip().splitlines()[-1]) / "results.parquet")
    exact = table[(table["metric"] == "exact_hop") & (table["table"] == "position")]
    ours = exact[exact["system"].isin(["changepoint", "changepoint_goldfree"])]
    assert len(ours) and (ours["value"] == 1.0).all()
    assert set(table["backbone"]) == {"reader"}
    stores = tmp_path / "stores" / "fp"
    before = {p: p.read_bytes() for p in stores.rglob("*.jsonl")}
    second = run(*SMALL, "fp.panel=paper", f"runs_dir={tmp_path}")
    assert second.returncode == 0, second.stderr
    for path, data in before.items():
        after = path.read_bytes()
        assert after == data or (path.name == "interventions.jsonl" and after.startswith(data))


def test_a_dry_run_says_what_the_target_takes(run: Run, tmp_path: Path) -> None:
    done = run(*SMALL, "dry_run=true", f"runs_dir={tmp_path}")
    assert done.returncode == 0 and "200 failed cases a depth take 667 questions if 30 % fail" in done.stdout

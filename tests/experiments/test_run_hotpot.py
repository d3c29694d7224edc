"""A real HotpotQA run end to end: real questions, real models, re-executed faults."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from faultline import results
from tests.experiments.conftest import Run


@pytest.mark.data
def test_charm_hotpot_on_some_questions(run: Run, tmp_path: Path, data_dir: Path) -> None:
    done = run("+exp=charm_hotpot", "limit=24", "resamples=200", f"runs_dir={tmp_path}", "policy.trust=1")
    assert done.returncode == 0, done.stderr
    directory = Path(done.stdout.strip().splitlines()[-1])
    table = results.read(directory / "results.parquet")
    eligible = table[table["metric"] == "eligible"].iloc[0]
    assert eligible["n_total"] == 24
    assert eligible["n_scored"] >= 8
    assert set(table["dataset"]) == {"hotpotqa"}
    stages = table[(table["table"] == "signals") & (table["metric"] == "drift")]
    assert {c.rsplit("stage=", 1)[1] for c in stages["condition"]} == {"2", "3", "4", "5"}
    manifest = orjson.loads((directory / "manifest.json").read_bytes())
    assert manifest["data"]["skipped"] == {"repeated_question": 11}


@pytest.mark.data
def test_bf16_through_the_a100_trainer_has_the_same_shape(run: Run, tmp_path: Path, data_dir: Path) -> None:
    arguments = ("+exp=charm_hotpot", "limit=8", "resamples=100", "policy.trust=1", "tracking=off")
    tables = []
    for extra in (("trainer=cpu",), ("trainer=a100", "trainer.accelerator=cpu")):
        done = run(*arguments, *extra, f"runs_dir={tmp_path}")
        assert done.returncode == 0, done.stderr
        tables.append(results.read(Path(done.stdout.strip().splitlines()[-1]) / "results.parquet"))
    fp32, bf16 = tables
    identity = list(results.IDENTITY)
    assert fp32[identity].equals(bf16[identity])
    drift = fp32["metric"] == "drift"
    assert bf16[drift]["value"].to_numpy() == pytest.approx(fp32[drift]["value"].to_numpy(), abs=0.05)

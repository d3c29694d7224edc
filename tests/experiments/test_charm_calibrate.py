"""Fitting on train files, and the live guard taking what was fitted."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from faultline import results
from tests.experiments.conftest import Run


@pytest.mark.data
@pytest.mark.slow
def test_the_guard_takes_what_was_fitted_on_train(run: Run, tmp_path: Path, data_dir: Path) -> None:
    from faultline.charm.guard import calibrated
    from faultline.charm.guard_models import embedded

    quick = ("limit=40", "calibrate.weight_step=0.5", "tracking=off", f"runs_dir={tmp_path}")
    done = run("+exp=charm_calibrate", *quick)
    assert done.returncode == 0, done.stderr
    directory = Path(done.stdout.strip().splitlines()[-1])
    table = results.read(directory / "results.parquet")
    grid = pd.read_parquet(directory / "grid.parquet")
    best = grid.loc[grid["f1"].idxmax()]
    trigger = calibrated(directory / "calibration.json", embedded()).settings.trigger
    assert trigger.theta == best["theta"]
    assert "/".join(f"{w:g}" for w in trigger.weights) == best["weights"]
    fitted = table[(table["system"] == "charm:f1") & (table["metric"] == "cdr_strict")].iloc[0]
    assert fitted["value"] == pytest.approx(best["cdr"])
    theta = table[table["metric"] == "conformal_theta"].iloc[0]
    assert pd.isna(theta["value"])
    assert "19 are needed" in theta["note"]


def test_a_test_split_is_refused(run: Run, tmp_path: Path) -> None:
    done = run("+exp=charm_calibrate", "corpora=synthetic", f"runs_dir={tmp_path}")
    assert done.returncode != 0
    assert "corpora.split must be train" in done.stderr

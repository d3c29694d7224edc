"""The experiment against plain pandas on the released files, and against published values."""

import os
from pathlib import Path

import pandas as pd
import pytest

from experiments import ths_released
from experiments.composition import compose
from faultline.errors import DataError
from faultline.reporting.console import Terminal
from faultline.reporting.run_context import RunContext
from faultline.results import frame

DATA = Path(os.environ.get("FAULTLINE_DATA_DIR", ""))
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not (DATA / "ths_release").is_dir(), reason="FAULTLINE_DATA_DIR holds no ths_release"),
]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    context = RunContext(folder, folder, "ths_released", Terminal(quiet=True))
    return ths_released.run(compose(["+exp=ths_released"]), context)


@pytest.fixture(scope="module")
def rows(outcome):
    return frame(outcome.rows).set_index(["table", "metric", "system", "condition"])


def test_table_three_against_the_file(rows):
    kpis = pd.read_csv(DATA / "ths_release" / "kpi_per_prompt.csv")
    for subset, part in [("all", kpis), *kpis.groupby("subset")]:
        for stage in ("front", "second", "third"):
            found = rows.loc[("table3", "kpi_mean", "OSR", f"stage={stage};subset={subset}"), "value"]
            assert found == pytest.approx(part[f"{stage}_OSR"].mean())


def test_published_values(rows):
    endorsed = rows.loc[("section8.1", "endorse_rate", "resolved", "interval=wilson;subset=stress")]
    assert (round(endorsed["low"], 3), round(endorsed["high"], 3)) == (0.059, 0.187)
    assert round(rows.loc[("section8.1", "alpha", "A-B-C", "subset=stress"), "value"], 3) == 0.586
    assert round(rows.loc[("section6.1", "w5_crossing", "EqualRest", "subset=all"), "value"], 3) == 0.463
    clustered = rows.loc[("section8.1", "endorse_rate", "resolved", "interval=text_clustered;subset=stress")]
    assert clustered["high"] - clustered["low"] > endorsed["high"] - endorsed["low"]


def test_every_table_is_split_into_halves(outcome):
    for name in ("ths_table3", "ths_table4", "ths_table5", "ths_table7", "ths_table9", "ths_appendixB"):
        columns = " ".join(outcome.tables[name].columns)
        for subset in ("all", "realistic", "stress"):
            assert f"subset={subset}" in columns


def test_summary_and_plan(outcome):
    (shown,) = ths_released.summary(frame(outcome.rows)).values()
    assert len(shown) == 18
    assert ths_released.plan(compose(["+exp=ths_released"]))


def test_without_data(monkeypatch):
    monkeypatch.delenv("FAULTLINE_DATA_DIR")
    with pytest.raises(DataError, match="FAULTLINE_DATA_DIR is not set"):
        ths_released.inputs(compose(["+exp=ths_released"]))

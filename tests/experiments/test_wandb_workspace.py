"""The saved view against what would be sent: every panel is about something that the run logged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments import wandb_workspace
from faultline.reporting import saved_run
from tests.reporting.page import hostile

pytest.importorskip("wandb_workspaces", reason="wandb-workspaces is not installed")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return hostile.build(tmp_path / "runs", 3)


def test_what_would_be_sent(home, capsys):
    assert wandb_workspace.main([str(home), "--entity", "me", "--print"]) == 0
    spec = json.loads(capsys.readouterr().out)
    sections = spec["section"]["panelBankConfig"]["sections"]
    by_name = {section["name"]: section["panels"] for section in sections}
    assert list(by_name) == ["charm_demo (1 metrics)", "Tables", "Configurations that differ", "Time"]
    run = saved_run.read(home)
    row = run.results.iloc[0]
    key = f"{row['metric']}/{row['system']}/{row['dataset']}/{row['condition']}"
    (bars,) = by_name["charm_demo (1 metrics)"]
    assert bars["viewType"] == "Bar Chart"
    assert bars["config"]["metrics"] == [key]
    tables = json.dumps(by_name["Tables"])
    assert all(name in tables for name in ("results", "table/VI", "outcomes"))
    assert by_name["Configurations that differ"][0]["viewType"] == "Run Comparer"


def test_without_a_key_nothing_is_sent(home, monkeypatch, capsys):
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    assert wandb_workspace.main([str(home), "--entity", "me"]) == 2
    assert capsys.readouterr().err.startswith("error: WANDB_API_KEY is not set")

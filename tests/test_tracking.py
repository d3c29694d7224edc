"""W&B as a mirror: off, offline (read back from its own log), and refusals before anything starts."""

import json
import os

import numpy as np
import pandas as pd
import pytest

from faultline import tracking
from faultline.errors import ConfigError, StoreError
from faultline.tracking import mirror

TABLE = pd.DataFrame({"metric": ["a", "b", "c"], "value": [0.5, np.nan, 1.0], "n": [3, 0, 2]})


@pytest.fixture(autouse=True)
def own_environment(monkeypatch):
    """What ``mirror`` sets is gone after the test; nothing of the machine's own settings counts."""
    for name in (
        "WANDB_API_KEY",
        "WANDB_MODE",
        "WANDB_DATA_DIR",
        "WANDB_CACHE_DIR",
        "WANDB_DIR",
        "WANDB_ARTIFACT_DIR",
    ):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def log(folder, mode, **tables):
    return mirror(folder, "demo", mode, "faultline", {"seed": 0}, tables, {"cdr": 0.5}, group="g")


def test_off_leaves_no_trace(tmp_path):
    assert log(tmp_path, "off", results=TABLE) is None
    assert list(tmp_path.iterdir()) == []
    assert "WANDB_DIR" not in os.environ


def test_an_unknown_mode_is_refused_before_anything_starts(tmp_path):
    with pytest.raises(ConfigError, match=r"tracking.mode=cloud: choose one of offline, online, off"):
        log(tmp_path, "cloud")
    assert list(tmp_path.iterdir()) == []


def test_online_without_a_key_is_refused_before_anything_starts(tmp_path):
    with pytest.raises(ConfigError, match=r"needs WANDB_API_KEY .* or use tracking=offline"):
        log(tmp_path, "online")
    assert list(tmp_path.iterdir()) == []


def test_offline_keeps_every_row_inside_the_run_directory(tmp_path):
    folder = log(tmp_path, "offline", results=TABLE)
    assert folder.is_relative_to(tmp_path / "wandb")
    assert list(folder.glob("*.wandb"))
    (stored,) = folder.rglob("results*.table.json")
    content = json.loads(stored.read_text())
    assert content["columns"] == list(TABLE.columns)
    assert content["data"] == [["a", 0.5, 3], ["b", None, 0], ["c", 1.0, 2]]
    assert {p.name for p in tmp_path.iterdir()} == {"wandb"}


def test_a_table_that_loses_rows_is_an_error(tmp_path, monkeypatch):
    import wandb

    class Lossy(wandb.Table):
        def __init__(self, dataframe):
            super().__init__(dataframe=dataframe.iloc[:-1])

    monkeypatch.setattr(wandb, "Table", Lossy)
    with pytest.raises(StoreError, match="W&B table results: 2 rows of 3 arrived"):
        log(tmp_path, "offline", results=TABLE)


def test_missing_values_become_none():
    plain = tracking._plain(TABLE)
    assert plain["value"].tolist() == [0.5, None, 1.0]
    assert plain["n"].tolist() == [3, 0, 2]

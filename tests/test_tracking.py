"""W&B as a mirror: off, offline (read back from its own log), and refusals before anything starts."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from faultline import tracking
from faultline.errors import ConfigError, Missing, StoreError
from faultline.records import Certificate, Hit, Passage, Stage, Trajectory
from faultline.tracking import Logged, Tracking, mirror, stage_table
from faultline.wandb_log import logs, records

TABLE = pd.DataFrame({"metric": ["a", "b", "c"], "value": [0.5, np.nan, 1.0], "n": [3, 0, 2]})
HIT = Hit(Passage("p1", "T", ("S.",)), 1.0, 1)


def trajectory(number, fault=None):
    stages = (
        Stage(1, "retrieval", "T: S.", query="q", hits=(HIT,)),
        Stage(2, "synthesis", "It is x.", answer="x", confidence=0.5, missing=Missing.NO_SPAN),
    )
    name, condition = f"d/t{number}/c/0", "fault=retrieval" if fault else "fault=none"
    return Trajectory(name, "d", f"t{number}", condition, 0, "Who?", stages, "x", "m", None, fault)


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


def log(folder, mode, bound=200, figures=(), trajectories=(), **tables):
    how = Tracking(mode, "faultline", "g", bound)
    return mirror(folder, "demo", how, Logged({"seed": 0}, tables, {"cdr": 0.5}, figures, trajectories))


def test_off_leaves_no_trace(tmp_path):
    assert log(tmp_path, "off", results=TABLE) is None
    assert list(tmp_path.iterdir()) == []
    assert "WANDB_DIR" not in os.environ


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"mode": "cloud"}, r"tracking.mode=cloud: choose one of offline, online, off"),
        ({"mode": "online"}, r"needs WANDB_API_KEY .* or use tracking=offline"),
        ({"max_trajectories": -1}, r"tracking.max_trajectories=-1: must be a whole number"),
        ({"max_trajectories": "many"}, r"tracking.max_trajectories=many"),
        ({"max_trajectories": True}, r"tracking.max_trajectories=True"),
    ],
)
def test_what_could_not_work_is_refused(settings, told):
    with pytest.raises(ConfigError, match=told):
        Tracking(**settings)


def test_offline_keeps_every_row_inside_the_run_directory(tmp_path):
    folder = log(tmp_path, "offline", results=TABLE)
    assert folder.is_relative_to(tmp_path / "wandb")
    assert list(folder.glob("*.wandb"))
    (stored,) = folder.rglob("results*.table.json")
    content = json.loads(stored.read_text())
    assert content["columns"] == list(TABLE.columns)
    assert content["data"] == [["a", 0.5, 3], ["b", None, 0], ["c", 1.0, 2]]
    assert {p.name for p in tmp_path.iterdir()} == {"wandb"}


def test_group_figures_and_a_bounded_sample_of_trajectories_are_in_the_log(tmp_path):
    Figure(figsize=(1, 1)).savefig(tmp_path / "table_VI.png")
    made = [trajectory(n) for n in range(7)]
    log(tmp_path, "offline", 3, [tmp_path / "table_VI.png"], made, results=TABLE)
    found = records(logs(tmp_path)[0])
    (run,) = [r.run for r in found if r.WhichOneof("record_type") == "run"]
    assert (run.run_group, run.display_name, run.project) == ("g", "demo", "faultline")
    told = {
        "/".join([item.key, *item.nested_key]).strip("/"): json.loads(item.value_json)
        for record in found
        if record.WhichOneof("record_type") == "summary"
        for item in record.summary.update
    }
    assert told["results/nrows"] == 3
    assert told["trajectories/nrows"] == 3 * 2
    assert (told["trajectories/total"], told["trajectories/logged"]) == (7, 3)
    assert told["figure/table_VI/_type"] == "image-file"


def test_a_stage_is_a_row_with_what_happened_in_it():
    fault = Certificate("retrieval", "retrieval", "call", 1, "p1", (), "span_swap@1")
    table = stage_table([trajectory(1, fault)], 5)
    first, last = table.to_dict("records")
    assert tuple(table.columns) == tracking.STAGE_COLUMNS
    assert (first["fault"], first["query"], first["passages"], first["text"]) == (
        "retrieval@1",
        "q",
        "p1",
        "T: S.",
    )
    assert (last["answer"], last["missing"], last["confidence"], last["final_answer"]) == (
        "x",
        "no_span",
        0.5,
        "x",
    )


def test_the_sample_is_the_same_whatever_the_order_and_grows_with_its_bound():
    made = [trajectory(n) for n in range(20)]
    few, more = (set(stage_table(made, n)["trajectory_id"]) for n in (5, 9))
    assert few == set(stage_table(made[::-1], 5)["trajectory_id"])
    assert few < more
    assert (len(few), len(more)) == (5, 9)
    assert len(stage_table(made, 0)) == 0


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

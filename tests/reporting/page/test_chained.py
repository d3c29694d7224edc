"""Review chains in the viewer: every envelope of every arm, and what cannot be read is said."""

from __future__ import annotations

import pandas as pd
import pytest

from faultline.agents.envelopes import StageMessage, pack
from faultline.reporting import saved_run
from faultline.reporting.page import chained, viewed
from tests.reporting.page import hostile


def row(prompt, stage, text, envelope, hit=False, missing=""):
    named = {"promptid": prompt, "subset": "stress", "prompt": f"about {prompt}"}
    return {
        **named,
        "stage": stage,
        "text": text,
        "envelope": envelope,
        "hit": hit,
        "calls": 1,
        "missing": missing,
    }


@pytest.fixture
def run(tmp_path):
    home = hostile.build(tmp_path, 3)
    said = hostile.text(1)
    rows = [
        row("p1", "front", said, pack(StageMessage(said), "p1", "FrontEndAgent", "SecondLevelReviewer")),
        row("p1", "second", "two", pack(StageMessage("two", "doubt", "high"), "p1", "a", "b"), hit=True),
        row("p1", "third", "three", "{broken"),
        row("p2", "front", "", "", missing="timeout"),
    ]
    pd.DataFrame(rows).to_parquet(home / "responses_exact_full.parquet")
    pd.DataFrame(rows[:1]).to_parquet(home / "responses_none_full.parquet")
    pd.DataFrame({"promptid": ["p1"]}).to_parquet(home / "responses_of_something_else.parquet")
    values = {"FCD": 0.25, "FGR": None, "FDF": 0.5, "ECS": 1.0}
    scores = [
        {"promptid": "p1", "stage": "front", "repeat": repeat, **values, "FCD": 0.25 + repeat}
        for repeat in (0, 1)
    ]
    pd.DataFrame(scores).to_parquet(home / "scores_exact_full_common.parquet")
    return saved_run.read(home)


def test_every_prompt_of_every_arm_is_one_record_after_the_trajectories(run):
    found = list(viewed.views(run))
    assert viewed.count(run) == len(found) == 3 + 3
    assert [v["id"] for v in found[3:]] == ["exact_full/p1", "exact_full/p2", "none_full/p1"]
    assert set(found[0]) <= set(found[3])  # the page asks for the same fields


def test_envelopes_in_order_with_what_they_whisper(run):
    chain = next(chained.views(run))
    fields = ("from", "to", "text", "whisper", "note")
    assert [tuple(e[f] for f in fields) for e in chain["envelopes"]] == [
        ("FrontEndAgent", "SecondLevelReviewer", hostile.text(1), "", ""),
        ("SecondLevelReviewer", "ThirdLevelReviewer", "two", "doubt\nhigh", "from memory"),
        ("ThirdLevelReviewer", "user", "three", "", "envelope cannot be read"),
    ]
    assert chain["answer"] == "three"
    assert chain["stages"][0]["scores"] == {
        "FCD (common)": 0.25,
        "FGR (common)": None,
        "FDF (common)": 0.5,
        "ECS (common)": 1.0,
    }
    assert chain["stages"][1]["scores"] == {}


def test_a_chain_that_broke_off_has_no_answer(run):
    broken = list(chained.views(run))[1]
    assert (broken["answer"], broken["missing"], broken["outcome"]) == (None, "timeout", "no answer")
    assert broken["envelopes"] == []

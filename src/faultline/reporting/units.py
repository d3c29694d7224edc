"""What a run says of each single case, so that two runs can be compared case by case."""

from __future__ import annotations

import pandas as pd

from faultline.reporting.page import viewed
from faultline.reporting.saved_run import SavedRun

COLUMNS = ("unit", "cluster", "metric", "system", "condition", "value")
"""``unit`` names the case, ``cluster`` its question; ``value`` is 0 or 1, or a score."""
PER_PROMPT = "ths_per_prompt"


def units(run: SavedRun) -> pd.DataFrame:
    """The cases of a run, one row a case and metric; empty if the run holds none.

    CHARM: was the injected trajectory flagged in time, at all; was the clean one flagged; was the answer
    right. Paper 2: did each diagnoser name the hop of each failed case. Paper 3: each weighting's score of
    each prompt.

    Raises:
        StoreError: A table or store of the run is damaged.
    """
    parts = [_trajectories(run), _diagnoses(run), _prompts(run)]
    return pd.concat([p for p in parts if len(p)] or parts[:1], ignore_index=True)


def _trajectories(run: SavedRun) -> pd.DataFrame:
    rows: list[tuple[str, str, str, str, str, float]] = []
    if run.table("signals") is None:
        return _frame(rows)
    for view in viewed.views(run):
        said: list[tuple[str, str, bool]] = []
        if view["injected"]:
            said.append(("detected_in_time", "charm", view["caught"] == "in time"))
            said.append(("flagged", "charm", view["first"] > 0))
        else:
            said.append(("false_alarm", "charm", view["first"] > 0))
        if view["outcome"] != "not judged":
            said.append(("right_answer", "none", view["outcome"] == "right"))
        where = view["condition"], view["task"]
        rows += [(view["id"], where[1], m, system, where[0], float(yes)) for m, system, yes in said]
    return _frame(rows)


def _diagnoses(run: SavedRun) -> pd.DataFrame:
    cases, said = run.table("cases"), run.table("diagnoses")
    needed = {"case", "setting", "depth", "recovered", "where", "task"}
    if cases is None or said is None or not needed <= set(cases.columns):
        return _frame([])
    both = said.merge(cases.loc[~cases["recovered"].astype(bool)], on=["case", "setting"], how="inner")
    return pd.DataFrame(
        {
            "unit": both["case"] + "|" + both["setting"],
            "cluster": both["task"],
            "metric": "exact_hop",
            "system": both["system"],
            "condition": both["where"],
            "value": (both["said_hop"] == both["depth"]).astype(float),
        },
        columns=list(COLUMNS),
    )


def _prompts(run: SavedRun) -> pd.DataFrame:
    table = run.table(PER_PROMPT)
    if table is None:
        return _frame([])
    scores = [c for c in table.columns if c.endswith(("_front", "_second", "_third"))]
    long = table.melt(id_vars=["promptid"], value_vars=scores, value_name="value")
    named = long["variable"].str.rsplit("_", n=1, expand=True)
    return pd.DataFrame(
        {
            "unit": long["promptid"].astype(str),
            "cluster": long["promptid"].astype(str),
            "metric": "ths",
            "system": named[0],
            "condition": "stage=" + named[1],
            "value": long["value"].astype(float),
        },
        columns=list(COLUMNS),
    ).dropna(subset=["value"])


def _frame(rows: list[tuple[str, str, str, str, str, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(COLUMNS))

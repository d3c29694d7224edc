"""Paper 2's content-fault study recomputed from the released records, with controls that need no model."""

from __future__ import annotations

from typing import Any

import pandas as pd
from omegaconf import DictConfig

from experiments.released_data import digests
from faultline.attribution import released
from faultline.attribution.release import FOLDER
from faultline.reporting.run_context import Outcome, RunContext, required_data_dir

OPTIONS: frozenset[str] = frozenset()


def inputs(cfg: DictConfig) -> dict[str, Any]:
    """What the run depends on: the content of every released file."""
    return {"data": digests(required_data_dir() / FOLDER)}


def plan(cfg: DictConfig) -> list[str]:
    """What a run would do."""
    return [f"read: the released files in {FOLDER}/", "generate, score, pay: nothing"]


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Recompute everything that the release gives."""
    rows = released.compute(context.data_dir())
    return Outcome(rows=rows, tables=released.layout(rows), manifest={"data": inputs(cfg)["data"]})


def summary(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Table 3 with the predictors that see nothing beside the diagnosers."""
    shown = table[table["metric"].eq("exact_hop") & table["table"].isin(["table3", "controls"])]
    shown = shown[shown["condition"].isin([f"depth={d}" for d in (1, 2, 3)])]
    wide = shown.pivot(index="system", columns="condition", values="value").reindex(shown["system"].unique())
    failed = table[table["metric"].eq("failed") & table["table"].eq("table3")].set_index("condition")["value"]
    named = wide.map("{:.2f}".format).rename(columns=lambda c: f"{c} (n={failed[c]:.0f})")
    return {"exact hop over failed cases (Table 3), and controls": named.reset_index()}

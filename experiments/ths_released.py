"""Paper 3 recomputed from the released measurements: no model, no cost, exact."""

from __future__ import annotations

from typing import Any

import pandas as pd
from omegaconf import DictConfig

from experiments.released_data import digests
from faultline.reporting.run_context import Outcome, RunContext, required_data_dir
from faultline.ths import released
from faultline.ths.release import FOLDER, read_kpis

OPTIONS: frozenset[str] = frozenset()
PER_PROMPT = "ths_per_prompt"
"""Stem of the table that the figures draw prompt by prompt."""


def inputs(cfg: DictConfig) -> dict[str, Any]:
    """What the run depends on: the content of every released file."""
    return {"data": digests(required_data_dir() / FOLDER)}


def plan(cfg: DictConfig) -> list[str]:
    """What a run would do."""
    return [f"read: the released files in {FOLDER}/", "generate, score, pay: nothing"]


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Recompute everything that the release gives."""
    rows = released.compute(context.data_dir())
    kpis = read_kpis(context.data_dir() / FOLDER / "kpi_per_prompt.csv")
    tables = {**released.layout(rows), PER_PROMPT: released.per_prompt(kpis)}
    return Outcome(rows=rows, tables=tables, manifest={"data": inputs(cfg)["data"]})


def summary(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Table 7 (mean THS by stage and its change) for all prompts and for each half."""
    shown = table[table["table"].eq("table7")].copy()
    where = shown["condition"].str.extract(r"^(?:stage|step)=(?P<at>\w+);subset=(?P<subset>\w+)$")
    shown["at"] = where["at"].where(shown["metric"].eq("ths_mean"), "change " + where["at"])
    shown["subset"] = where["subset"]
    wide = shown.pivot(index=["subset", "system"], columns="at", values="value")
    columns = ["front", "second", "third", "change total"]
    order = pd.MultiIndex.from_frame(shown[["subset", "system"]].drop_duplicates())
    printed = wide.reindex(order)[columns].map("{:+.4f}".format).reset_index()
    return {"mean THS by stage, more negative is better (Table 7)": printed}

"""Paper 3 recomputed from the released measurements: the rows and the tables as the paper lays them out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from faultline.results import Row, frame
from faultline.ths import coding, limits, rejudged, score, tables
from faultline.ths.release import STAGES, load, stage_kpis


def compute(data_dir: Path) -> list[Row]:
    """Every row that the released files give.

    Args:
        data_dir: The folder that holds ``ths_release``.

    Raises:
        DataError: A released file is missing or not as documented.
    """
    release = load(data_dir)
    return [
        *tables.compute(release.kpis),
        *coding.compute(release),
        *rejudged.compute(release),
        *limits.compute(release.kpis),
    ]


def layout(rows: list[Row]) -> Mapping[str, pd.DataFrame]:
    """The paper's tables: by name, systems down, conditions across; stress and realistic halves included."""
    whole = frame(rows)
    numbered = whole[whole["table"].str.match(r"^(table\d+|appendixB)$")]
    out: dict[str, pd.DataFrame] = {}
    for name, part in numbered.groupby("table", sort=True):
        out[f"ths_{name}"] = part.pivot_table(
            index=["metric", "system"], columns="condition", values="value", sort=False, dropna=False
        ).dropna(how="all", axis=1)
    return out


def per_prompt(kpis: pd.DataFrame) -> pd.DataFrame:
    """What the figures draw prompt by prompt: cache flags, and THS by configuration and stage.

    Args:
        kpis: The checked per-prompt KPIs.

    Returns:
        One row a prompt: ``promptid``, ``subset``, ``<stage>_cache_hit``, ``<configuration>_<stage>``.
    """
    out = kpis[["promptid", "subset", *(f"{stage}_cache_hit" for stage in STAGES)]].copy()
    for name, weights in tables.SYSTEMS.items():
        for stage in STAGES:
            out[f"{name}_{stage}"] = score.ths(stage_kpis(kpis, stage), weights)
    return out

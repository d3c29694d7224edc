"""Paper 2's content-fault study recomputed from the released records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from faultline.attribution import table3, table4
from faultline.attribution.release import load
from faultline.results import Row, frame


def compute(data_dir: Path) -> list[Row]:
    """Every row that the released records give.

    Args:
        data_dir: The folder that holds ``fp_release``.

    Raises:
        DataError: A released file is missing or not as documented.
    """
    release = load(data_dir)
    return [*table3.compute(release.cases), *table4.compute(release)]


def layout(rows: list[Row]) -> Mapping[str, pd.DataFrame]:
    """The tables by name, systems down and conditions across."""
    whole = frame(rows)
    out: dict[str, pd.DataFrame] = {}
    for name, part in whole.groupby("table", sort=True):
        out[f"fp_{name}"] = part.pivot_table(
            index=["metric", "system", "dataset"], columns="condition", values="value", sort=False
        ).reset_index()
    return out

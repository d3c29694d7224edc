"""How the released measurements of paper 3 become rows of the results table."""

from __future__ import annotations

import math
from typing import Any

from faultline.results import Row


def row(
    table: str,
    metric: str,
    system: str,
    condition: str,
    value: float | None,
    n: int,
    *,
    unit: str = "score",
    low: float | None = None,
    high: float | None = None,
    n_missing: int = 0,
    needs_gold: bool = False,
    note: str = "",
) -> Row:
    """A row over ``n`` scored cases and ``n_missing`` missing ones; no value, or NaN, is undefined."""
    known = value if value is not None and math.isfinite(value) else None
    return Row(
        paper="ths",
        experiment="ths_released",
        table=table,
        metric=metric,
        system=system,
        dataset="ths_release",
        condition=condition,
        backbone="released",
        nli="",
        embedder="",
        needs_gold=needs_gold,
        value=known,
        low=low,
        high=high,
        unit=unit,
        n_total=n + n_missing,
        n_scored=n,
        n_missing=n_missing,
        note=note or ("" if known is not None else "undefined" if n else "undefined: no rows"),
    )


def count(table: str, metric: str, system: str, condition: str, k: float, n: int, **rest: Any) -> Row:
    """A row that counts ``k`` of ``n``."""
    return row(table, metric, system, condition, float(k), n, unit="count", **rest)

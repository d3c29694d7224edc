"""How the released records of paper 2 become rows of the results table."""

from __future__ import annotations

from typing import Any

from faultline.results import Row
from faultline.stats import Estimate


def row(
    table: str,
    metric: str,
    system: str,
    dataset: str,
    condition: str,
    value: Estimate | float | None,
    n: int,
    *,
    unit: str = "rate",
    n_missing: int = 0,
    needs_gold: bool = False,
    note: str = "",
) -> Row:
    """A row over ``n`` scored cases and ``n_missing`` missing ones; an estimate brings its interval along."""
    known = value if isinstance(value, Estimate) else Estimate(value, None, None, n)
    return Row(
        paper="fp",
        experiment="fp_released",
        table=table,
        metric=metric,
        system=system,
        dataset=dataset,
        condition=condition,
        backbone="released",
        nli="",
        embedder="",
        needs_gold=needs_gold,
        value=known.value,
        low=known.low,
        high=known.high,
        unit=unit,
        n_total=n + n_missing,
        n_scored=n,
        n_missing=n_missing,
        note=note or ("undefined: no cases" if known.value is None else ""),
    )


def count(
    table: str, metric: str, system: str, dataset: str, condition: str, k: float, n: int, **rest: Any
) -> Row:
    """A row that counts ``k`` of ``n``."""
    return row(table, metric, system, dataset, condition, float(k), n, unit="count", **rest)

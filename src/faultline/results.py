"""The one tidy table that every experiment writes, and that every report reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from faultline.errors import DataError, StoreError

COLUMNS: Mapping[str, str] = {
    "paper": "string",
    "experiment": "string",
    "table": "string",
    "metric": "string",
    "system": "string",
    "dataset": "string",
    "condition": "string",
    "backbone": "string",
    "nli": "string",
    "embedder": "string",
    "needs_gold": "bool",
    "value": "double",
    "low": "double",
    "high": "double",
    "unit": "string",
    "n_total": "int64",
    "n_scored": "int64",
    "n_missing": "int64",
    "note": "string",
}
"""Columns of ``results.parquet``, in order, with their Arrow types."""

IDENTITY = (
    "paper",
    "experiment",
    "table",
    "metric",
    "system",
    "dataset",
    "condition",
    "backbone",
    "nli",
    "embedder",
)
"""The columns that name a row: no two rows of a run agree in all of them."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured number.

    Attributes:
        paper: ``charm``, ``fp`` or ``ths``.
        table: The paper's table or figure that the row belongs to, or a name of our own.
        condition: ``key=value`` pairs joined by ``;`` (``fault=retrieval;scope=call;trust=1``).
        value: None where it is missing; then ``note`` says why. Rates are in [0, 1].
        low: Lower end of the 95 % interval, None without one.
        unit: ``rate``, ``stage``, ``ms``, ``count``, ``score``, ...
        n_total: Cases that the row is about.
        n_scored: Cases that gave a value.
        n_missing: Cases that did not; ``n_total = n_scored + n_missing``.
        note: Typed reasons of missing cases, and what a reader of the row must know.
    """

    paper: str
    experiment: str
    table: str
    metric: str
    system: str
    dataset: str
    condition: str
    backbone: str
    nli: str
    embedder: str
    needs_gold: bool
    value: float | None
    low: float | None
    high: float | None
    unit: str
    n_total: int
    n_scored: int
    n_missing: int
    note: str = ""


def frame(rows: Iterable[Row]) -> pd.DataFrame:
    """Rows as a table with :data:`COLUMNS`, in the order given.

    Raises:
        DataError: Counts that do not add up, or two rows with one identity.
    """
    records = [asdict(row) for row in rows]
    for record in records:
        if record["n_total"] != record["n_scored"] + record["n_missing"]:
            raise DataError(f"results row {_name(record)}: n_total is not n_scored + n_missing")
    table = pd.DataFrame.from_records(records, columns=list(COLUMNS))
    twice = table.duplicated(subset=list(IDENTITY))
    if bool(twice.any()):
        raise DataError(f"results row {_name(records[int(twice.to_numpy().argmax())])} occurs twice")
    return table


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a results table; the same rows give the same bytes.

    Raises:
        DataError: A column is missing or extra.
        StoreError: The file cannot be written.
    """
    if list(table.columns) != list(COLUMNS):
        raise DataError(f"{path}: results columns {list(table.columns)}, expected {list(COLUMNS)}")
    arrow = pa.Table.from_pandas(table, schema=schema(), preserve_index=False)
    try:
        pq.write_table(arrow, path)
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written ({error}); free some space, repeat the command"
        ) from error


def read(path: Path) -> pd.DataFrame:
    """Read a results table that :func:`write` wrote."""
    table: pd.DataFrame = pq.read_table(path, schema=schema()).to_pandas()
    return table


def schema() -> pa.Schema:
    """The Arrow schema of :data:`COLUMNS`."""
    kinds = {"string": pa.string(), "bool": pa.bool_(), "double": pa.float64(), "int64": pa.int64()}
    return pa.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])


def _name(record: Mapping[str, object]) -> str:
    return "/".join(str(record[column]) for column in IDENTITY)

"""The results table: counts, identities, the schema, and stable bytes."""

from dataclasses import asdict, fields, replace

import pandas as pd
import pyarrow.parquet as pq
import pytest

from faultline.errors import DataError, StoreError
from faultline.results import COLUMNS, IDENTITY, Row, frame, read, schema, write

ROW = Row(
    paper="charm",
    experiment="charm_eval",
    table="VI",
    metric="cdr_strict",
    system="charm",
    dataset="synthetic",
    condition="fault=retrieval;scope=call;trust=1",
    backbone="reader",
    nli="n",
    embedder="e",
    needs_gold=False,
    value=0.75,
    low=0.5,
    high=0.9,
    unit="rate",
    n_total=10,
    n_scored=8,
    n_missing=2,
    note="missing: no_span=2",
)
EMPTY = replace(
    ROW, metric="msr", value=None, low=None, high=None, n_scored=0, n_missing=10, note="missing: not_run=10"
)


def test_columns_are_the_fields_of_a_row_in_the_published_order():
    assert list(COLUMNS) == [field.name for field in fields(Row)] == list(schema().names)
    assert list(COLUMNS) == [
        *("paper", "experiment", "table", "metric", "system", "dataset", "condition", "backbone", "nli"),
        *("embedder", "needs_gold", "value", "low", "high", "unit", "n_total", "n_scored", "n_missing"),
        "note",
    ]


def test_rows_keep_their_order_and_values():
    table = frame([EMPTY, ROW])
    assert list(table.columns) == list(COLUMNS)
    assert table.iloc[1].to_dict() == asdict(ROW)
    assert pd.isna(table.iloc[0]["value"])


@pytest.mark.parametrize("counts", [(10, 8, 1), (10, 8, 3), (0, 0, 1)])
def test_counts_that_do_not_add_up_are_named(counts):
    total, scored, missing = counts
    wrong = replace(ROW, n_total=total, n_scored=scored, n_missing=missing)
    with pytest.raises(DataError, match=r"charm/charm_eval/VI/cdr_strict/.*: n_total is not"):
        frame([wrong])


def test_two_rows_of_one_identity_are_named():
    with pytest.raises(DataError, match=r"cdr_strict.* occurs twice"):
        frame([EMPTY, ROW, replace(ROW, value=0.5, unit="score", note="")])


@pytest.mark.parametrize("column", IDENTITY)
def test_rows_that_differ_in_one_identity_column_are_two(column):
    assert len(frame([ROW, replace(ROW, **{column: "other"})])) == 2


def test_the_table_comes_back_with_its_types(tmp_path):
    table = frame([ROW, EMPTY])
    write(table, tmp_path / "r.parquet")
    back = read(tmp_path / "r.parquet")
    assert pq.read_schema(tmp_path / "r.parquet").equals(schema(), check_metadata=False)
    assert back.iloc[0].to_dict() == asdict(ROW)
    assert pd.isna(back.iloc[1]["value"]) and back.iloc[1]["note"] == EMPTY.note
    assert back["n_total"].dtype == "int64" and back["needs_gold"].dtype == bool


def test_a_missing_value_is_null_in_the_file_not_nan(tmp_path):
    write(frame([EMPTY]), tmp_path / "r.parquet")
    column = pq.read_table(tmp_path / "r.parquet")["value"]
    assert column.null_count == 1


def test_an_empty_table_comes_back(tmp_path):
    write(frame([]), tmp_path / "r.parquet")
    assert list(read(tmp_path / "r.parquet").columns) == list(COLUMNS)


def test_the_same_rows_give_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write(frame([ROW, EMPTY]), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    write(read(tmp_path / "a"), tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == (tmp_path / "a").read_bytes()


@pytest.mark.parametrize("change", [lambda t: t.drop(columns="note"), lambda t: t.assign(extra=1)])
def test_other_columns_are_refused(tmp_path, change):
    with pytest.raises(DataError, match="results columns"):
        write(change(frame([ROW])), tmp_path / "r.parquet")
    assert not (tmp_path / "r.parquet").exists()


def test_a_folder_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(StoreError, match=r"r\.parquet: cannot be written"):
        write(frame([ROW]), tmp_path / "absent" / "r.parquet")

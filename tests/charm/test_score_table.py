from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from faultline.charm.score_table import COLUMNS, from_frame, to_frame
from faultline.errors import DataError

from .cases import random_scores

IDS = [f"hotpotqa/{i}/clean/0" for i in range(9)]


def same(a, b):
    return all(
        getattr(a, f.name).tobytes() == getattr(b, f.name).tobytes()
        and getattr(a, f.name).shape == getattr(b, f.name).shape
        for f in fields(a)
    )


def test_there_and_back_through_parquet(tmp_path):
    scores = random_scores(0, 9)
    to_frame(scores, IDS).to_parquet(tmp_path / "signals.parquet")
    again, ids = from_frame(pd.read_parquet(tmp_path / "signals.parquet"))
    assert same(scores, again)
    assert list(ids) == IDS


def test_one_row_a_trajectory_and_stage():
    scores = random_scores(1, 9)
    table = to_frame(scores, IDS)
    assert list(table.columns) == list(COLUMNS)
    assert len(table) == 45
    row = table[(table.trajectory_id == IDS[4]) & (table.stage == 3)].iloc[0]
    assert row["present"] == scores.present[4, 2]
    np.testing.assert_array_equal(row["consensus_contradiction"], scores.consensus[4, 2, 2])
    np.testing.assert_array_equal(row["similarity_mean"], scores.similarity_mean[4, 2])


def test_rows_in_any_order_and_absent_stages():
    scores = random_scores(2, 9)
    table = to_frame(scores, IDS)
    shuffled = table[table.present].sample(frac=1, random_state=0)
    again, ids = from_frame(shuffled, stages=5)
    assert same(scores[[IDS.index(i) for i in ids]], again)


def test_tables_that_do_not_fit():
    scores = random_scores(3, 9)
    table = to_frame(scores, IDS)
    with pytest.raises(DataError, match="confidence"):
        from_frame(table.drop(columns="confidence"))
    with pytest.raises(DataError, match=r"hotpotqa/0/clean/0.*2 occurs twice"):
        from_frame(pd.concat([table, table.iloc[[1]]]))
    with pytest.raises(DataError, match=r"hotpotqa/0/clean/0.*5 is outside 1 to 4"):
        from_frame(table, stages=4)
    with pytest.raises(DataError, match="distinct ids"):
        to_frame(scores, [*IDS[:8], IDS[0]])

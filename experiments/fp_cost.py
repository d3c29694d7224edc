"""What a correct diagnosis costs in dollars, from its tokens and the dated price table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from faultline.chat.budget import Price
from faultline.results import Row

METRIC = "tokens_per_correct"


def priced_rows(rows: Sequence[Row], price: Price | None) -> Iterator[Row]:
    """Dollars beside every row that has tokens a correct diagnosis.

    A diagnoser's tokens are counted in one sum, and providers price what is sent and what is generated
    differently: ``usd_per_correct_least`` prices all of them as sent, ``usd_per_correct_most`` all of them as
    generated. The truth lies between.

    Args:
        rows: Of a study with a language model.
        price: Of the model; without one the value is missing, with the reason.
    """
    for row in rows:
        if row.metric != METRIC:
            continue
        for bound in ("least", "most"):
            metric = f"usd_per_correct_{bound}"
            if price is None:
                yield _without(row, metric, "no_price")
            elif row.value is None:
                yield _without(row, metric, "undefined")
            else:
                each = (price.input if bound == "least" else price.output) / 1e6
                note = f"prices of {price.as_of}"
                yield replace(
                    row, metric=metric, value=row.value * each, low=None, high=None, unit="usd", note=note
                )


def _without(row: Row, metric: str, reason: str) -> Row:
    return replace(
        row,
        metric=metric,
        value=None,
        low=None,
        high=None,
        unit="usd",
        n_scored=0,
        n_missing=row.n_total,
        note=f"missing: {reason}={row.n_total}",
    )

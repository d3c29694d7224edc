"""Dollars a correct diagnosis: by hand, without a price, without a correct diagnosis."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.fp_cost import priced_rows
from faultline import results
from faultline.chat.budget import Price
from faultline.results import Row

TOKENS = Row(
    "fp", "e", "accuracy", "tokens_per_correct", "changepoint", "d", "depth=1", "gpt-4o", "", "", True,
    1500.0, None, None, "tokens", 10, 10, 0, "",
)  # fmt: skip
OTHER = replace(TOKENS, metric="exact_hop", value=0.5, unit="rate")
PRICE = Price(2.5, 10.0, "2025-11-01")


def test_the_bounds_are_all_sent_and_all_generated() -> None:
    least, most = priced_rows([OTHER, TOKENS], PRICE)
    assert (least.metric, most.metric) == ("usd_per_correct_least", "usd_per_correct_most")
    assert least.value == pytest.approx(1500 * 2.5 / 1e6)
    assert most.value == pytest.approx(0.015)
    assert {least.unit, most.unit} == {"usd"}
    assert least.note == "prices of 2025-11-01"
    assert (least.system, least.condition, least.needs_gold) == ("changepoint", "depth=1", True)


@pytest.mark.parametrize(
    ("row", "price", "reason"),
    [(TOKENS, None, "no_price"), (replace(TOKENS, value=None, note="x"), PRICE, "undefined")],
)
def test_what_has_no_price_or_no_correct_diagnosis_is_missing(
    row: Row, price: Price | None, reason: str
) -> None:
    for made in priced_rows([row], price):
        assert (made.value, made.n_scored, made.n_missing) == (None, 0, 10)
        assert made.note == f"missing: {reason}=10"


def test_the_rows_fit_the_results_table() -> None:
    assert len(results.frame([OTHER, TOKENS, *priced_rows([OTHER, TOKENS], PRICE)])) == 4

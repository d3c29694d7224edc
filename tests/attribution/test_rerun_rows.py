from __future__ import annotations

import pandas as pd
import pytest
from scipy.stats import binom

from faultline import results
from faultline.attribution.equal_cost import equal_cost_rows
from faultline.attribution.panel import PANELS, panel
from faultline.attribution.records_table import Truth, case_row, diagnosis_rows, joined
from faultline.attribution.rerun_rows import (
    Names,
    accuracy_rows,
    calibration_rows,
    control_rows,
    pair_rows,
    power_rows,
    probe_rows,
    questions_needed,
    recovery_range_rows,
    selection_rows,
)
from faultline.errors import ConfigError
from faultline.faults.hops import HopFault
from faultline.results import Row
from faultline.stats import wilson
from tests.attribution.failures import failures

NAMES = Names("fp_test", "synthetic", "reader", "", 100, 200)
FAULT = HopFault("content", span="hop_fact")


def tables(name: str = "order") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Failed cases at depths 1 to 3 and what a panel says of them."""
    cases, said = [], []
    for depth in (1, 2, 3):
        for case in failures("chain", FAULT, depth):
            named = f"{case.id}/{depth}"
            truth = Truth("content", "call", depth, case.id, "", "hop_fact", len(case.hops))
            row = case_row(case, truth, case.annotation, 2)
            cases.append({"setting": "s=1", "where": f"depth={depth}", **row, "case": named})
            found = diagnosis_rows(case, panel(name, None, 0))
            said += [{"setting": "s=1", **row, "case": named} for row in found]
    return pd.DataFrame(cases), pd.DataFrame(said)


def value(rows: list[Row], metric: str, system: str, condition: str) -> Row:
    (row,) = [r for r in rows if (r.metric, r.system, r.condition) == (metric, system, condition)]
    return row


def test_rows_are_the_means_of_the_table() -> None:
    cases, said = tables()
    table = joined(cases, said)
    rows = list(accuracy_rows(NAMES, table))
    for depth in (1, 2, 3):
        where = f"depth={depth};fault=content;scope=call;s=1"
        n = int((cases["depth"] == depth).sum())
        for system, expected in (("changepoint", 1.0), ("suffix_regen_earliest", float(depth == 1))):
            row = value(rows, "exact_hop", system, where)
            assert (row.value, row.n_scored) == (expected, n)
            assert (
                row.low is not None
                and row.high is not None
                and row.low <= expected + 1e-9
                and expected <= row.high + 1e-9
            )
    pooled = value(rows, "within_one", "constant_hop_2", "depth=3;family=content;scope=call;s=1")
    assert pooled.value == 1.0
    assert (
        value(rows, "exact_hop", "change_point", "family=content;scope=call;position=middle;s=1").value == 1.0
    )
    results.frame(rows)  # no two rows share an identity


def test_mcnemar_is_the_exact_binomial_and_holm_never_below_it() -> None:
    rows = list(pair_rows(NAMES, joined(*tables())))
    name, where = "changepoint:suffix_regen_earliest", "family=content;scope=call;depth=2;s=1"
    n = int(value(rows, "discordant_first", name, where).value or 0)
    p = value(rows, "mcnemar_p", name, where).value
    assert value(rows, "discordant_second", name, where).value == 0.0
    assert p == pytest.approx(min(1.0, 2 * binom.cdf(0, n, 0.5)))
    assert (value(rows, "mcnemar_p_holm", name, where).value or 0) >= (p or 0)


def test_selection_counts_everyone() -> None:
    cases, _ = tables()
    skipped = {"depth=1": {"no_span": 2}, "depth=2": {}, "depth=3": {}}
    rows = list(selection_rows(NAMES, cases, skipped))
    first = value(rows, "injected", "all", "depth=1")
    assert first.n_total == (first.value or 0) + 2
    assert value(rows, "skipped_no_span", "all", "depth=1").value == 2.0
    shares = [
        value(rows, outcome, "all", "depth=2;fault=content;scope=call;s=1").value or 0.0
        for outcome in ("resisted", "absorbed", "derailed")
    ]
    assert sum(shares) == pytest.approx(1.0)
    assert value(rows, "placebo_flip", "all", "depth=2;fault=content;scope=call;s=1").value == 0.0


def test_calibration_and_abstention() -> None:
    rows = list(calibration_rows(NAMES, joined(*tables())))
    where = "family=content;scope=call;s=1"
    brier = value(rows, "brier", "changepoint", where)
    assert 0.0 < (brier.value or 0) < 0.05
    sure = value(rows, "selective_exact_hop", "changepoint", f"{where};threshold=0.9")
    assert sure.value == 1.0 and sure.n_total == sure.n_scored + sure.n_missing


def test_equal_cost_takes_the_dearest_affordable_version() -> None:
    rows = list(equal_cost_rows(NAMES, joined(*tables("budget"))))
    where = "family=content;scope=call;depth=2;s=1"
    gain = value(rows, "gain", "changepoint:suffix_regen_x5", where)
    assert gain.value is not None and gain.value > 0.5 and "tokens against" in gain.note


def test_controls_and_power() -> None:
    cases, said = tables("trace")
    static = cases.merge(said, on=["case", "setting"])
    alarms = said.assign(task=said["case"])
    rows = list(control_rows(NAMES, static, alarms))
    assert value(rows, "exact_hop", "constant_hop_1", "depth=1;family=content;static=1;s=1").value == 1.0
    assert value(rows, "false_alarm", "constant_hop_1", "fault=none;s=1").value == 1.0
    power = value(list(power_rows(NAMES, cases, 60)), "questions_needed", "all",
                  "family=content;scope=call;depth=1;s=1")  # fmt: skip
    failed = int((cases["depth"] == 1).sum())
    assert power.value == questions_needed(failed, 60, 200) and "not met" in power.note
    assert questions_needed(0, 10, 200) is None and questions_needed(18, 62, 200) == 689


@pytest.mark.parametrize("name", PANELS)
def test_names_of_a_panel_are_unique(name: str) -> None:
    names = [d.name for d in panel(name, 4, 0)]
    assert len(set(names)) == len(names)


def test_an_unknown_panel_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"fp\.panel"):
        panel("x", None, 0)


def test_recovery_range_is_over_cells_and_leaves_small_ones_out():
    cells = [("empty", 1, "11100"), ("empty", 2, "00000"), ("stale", 1, "11111"), ("stale", 2, "10")]
    same = {"setting": "s=1", "family": "structural", "scope": "call"}
    table = pd.DataFrame(
        [same | {"fault": f, "depth": d, "recovered": r == "1"} for f, d, said in cells for r in said]
    )
    names = Names("e", "d", "reader", "", 100, 10)
    made = {row.metric: row for row in recovery_range_rows(names, table)}
    assert (made["recovery_lowest"].value, made["recovery_highest"].value) == (0.0, 1.0)
    assert made["recovery_lowest"].note == "over 3 cells of at least 5 cases"
    few = {row.metric: row for row in recovery_range_rows(names, table, least=9)}
    assert few["recovery_lowest"].value is None


def test_a_rate_without_variation_has_the_width_of_its_questions():
    names = Names("e", "d", "reader", "", 100, 10)
    found = names.mean([1.0] * 12, ["q1", "q1", "q1", "q2", "q2", "q2"] * 2)
    alone = wilson(2, 2)
    assert (found.value, found.low, found.high, found.n) == (1.0, alone.low, alone.high, 12)
    assert names.mean([0.0] * 4, ["q1", "q1", "q2", "q2"]).high == wilson(0, 2).high


def test_a_judge_without_a_verdict_is_missing_and_not_wrong():
    said = [(1, ""), (0, "parse_error"), (2, ""), (0, "timeout"), (0, "none_named")]
    table = pd.DataFrame(
        [
            {
                "setting": "s=1", "case": f"c{i}", "task": f"t{i}", "family": "content", "fault": "content",
                "scope": "call", "depth": 1, "suffix": 0, "position": "first", "stage": "retrieval",
                "system": "judge", "needs_gold": False, "said_stage": "retrieval", "said_hop": hop,
                "tokens": 10, "placebo_tokens": 0, "reason": reason,
            }
            for i, (hop, reason) in enumerate(said)
        ]
    )  # fmt: skip
    rows = [r for r in accuracy_rows(NAMES, table) if r.table == "accuracy" and "family=" in r.condition]
    exact = next(r for r in rows if r.metric == "exact_hop")
    assert (exact.value, exact.n_scored, exact.n_missing, exact.n_total) == (pytest.approx(1 / 3), 3, 2, 5)
    assert exact.note == "missing: parse_error=1, timeout=1"
    assert next(r for r in rows if r.metric == "abstained").value == pytest.approx(1 / 3)
    gone = next(iter(accuracy_rows(NAMES, table[table["reason"] == "timeout"])))
    assert (gone.value, gone.n_missing) == (None, 1)


def test_tokens_that_no_server_counted_are_missing_and_not_zero():
    table = pd.DataFrame(
        [
            {
                "setting": "s=1", "case": f"c{i}", "task": f"t{i}", "family": "content", "fault": "content",
                "scope": "call", "depth": 1, "suffix": 0, "position": "first", "stage": "retrieval",
                "system": "judge", "needs_gold": False, "said_stage": "retrieval", "said_hop": 1,
                "tokens": tokens, "placebo_tokens": 0, "reason": "",
            }
            for i, tokens in enumerate((12, None))
        ]
    )  # fmt: skip
    rows = [r for r in accuracy_rows(NAMES, table) if r.table == "accuracy" and "family=" in r.condition]
    for metric in ("probe_tokens", "tokens_per_correct"):
        (row,) = [r for r in rows if r.metric == metric]
        assert (row.value, row.n_missing, row.note) == (None, 2, "missing: no_usage=1")
    assert next(r for r in rows if r.metric == "exact_hop").value == 1.0


def test_failed_probes_are_rows():
    (row,) = probe_rows(NAMES, {"pool=question": (40, {"timeout": 3})})
    assert (row.metric, row.value, row.n_total) == ("probe_timeout", 3.0, 40)

"""Rows on a synthetic release, against plain pandas."""

import pandas as pd
import pytest

from faultline.results import frame
from faultline.ths import limits, release, tables

from . import release_files

KPIS = release_files.kpis()


@pytest.fixture(scope="module")
def rows():
    table = frame([*tables.compute(KPIS), *limits.compute(KPIS)])
    return table.set_index(["table", "metric", "system", "condition"])["value"]


def halves():
    return {
        "all": KPIS,
        "realistic": KPIS[KPIS["subset"] == "realistic"],
        "stress": KPIS[KPIS["subset"] == "stress"],
    }


def test_means_changes_and_counts_in_all_and_both_halves(rows):
    for subset, part in halves().items():
        for stage in release.STAGES:
            for kpi in release.KPIS:
                value = rows["table3", "kpi_mean", kpi, f"stage={stage};subset={subset}"]
                assert value == pytest.approx(part[f"{stage}_{kpi}"].mean())
        change = rows["table4", "kpi_change", "ECS", f"step=total;subset={subset}"]
        assert change == pytest.approx((part["third_ECS"] - part["front_ECS"]).mean())
        hits = rows["table5", "cache_hits", "all", f"subset={subset}"]
        assert hits == part[[f"{s}_cache_hit" for s in release.STAGES]].sum().sum()


def test_parts_sum_to_the_change_and_steps_to_the_whole(rows):
    for subset in halves():
        for system in tables.SYSTEMS:
            changes = {
                s: rows["table7", "ths_change", system, f"step={s};subset={subset}"] for s in tables.STEPS
            }
            assert changes["first"] + changes["second"] == pytest.approx(changes["total"])
            for step, change in changes.items():
                parts = [
                    rows["section6", "ths_contribution", system, f"kpi={k};step={step};subset={subset}"]
                    for k in release.KPIS
                ]
                assert sum(parts) == pytest.approx(change)


def test_the_pooled_mean_is_the_weighted_mean_of_the_halves(rows):
    for kpi in release.KPIS:
        one, two, both = (
            rows["table3", "kpi_mean", kpi, f"stage=third;subset={s}"] for s in ("realistic", "stress", "all")
        )
        assert both == pytest.approx((217 * one + 93 * two) / 310)


def test_cache_difference_of_both_readings(rows):
    served = KPIS["third_cache_hit"] == 1
    anything = KPIS[[f"{s}_cache_hit" for s in release.STAGES]].any(axis=1)
    w = tables.score.WEIGHTINGS["Baseline"]
    ths = pd.Series(tables.score.ths(release.stage_kpis(KPIS, "third"), w))
    for split, flag in (("third", served), ("any", anything)):
        value = rows["appendixB", "cache_difference", "Baseline", f"split={split};subset=all"]
        assert value == pytest.approx(ths[flag].mean() - ths[~flag].mean())


def test_without_the_substituted_rows(rows):
    kept = KPIS[KPIS["evaluator_substituted"] == 0]
    w = tables.score.FOUR_KPI
    expected = (
        tables.score.ths(release.stage_kpis(kept, "third"), w)
        - tables.score.ths(release.stage_kpis(kept, "front"), w)
    ).mean()
    value = rows["section11", "ths_change", "FourKPI", "rows=without_substituted;step=total;subset=all"]
    assert value == pytest.approx(expected)
    # the synthetic substituted rows have different numbers: no signature
    assert rows["section11", "rows_with_signature", "all", "subset=all"] == 0


@pytest.mark.filterwarnings("error")
def test_a_half_without_rows_is_undefined_with_a_reason():
    realistic = KPIS[KPIS["subset"] == "realistic"]
    table = frame([*tables.compute(realistic), *limits.compute(realistic)])
    empty = table[table["condition"].str.contains("subset=stress")]
    assert len(empty) > 100
    counts = empty["unit"].eq("count")
    assert (empty.loc[counts, "value"] == 0).all()
    assert empty.loc[~counts, "value"].isna().all()
    assert set(empty.loc[~counts, "note"]) == {"undefined: no rows"}

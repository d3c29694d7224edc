import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.charm import consistency as c
from faultline.charm.cpm import CpmSettings
from faultline.printed import parse

DATASETS = ("500", "400", "400", "200")


def p(text):
    return parse(text)


def many(*texts):
    return [parse(text) for text in texts]


def test_1_table_six_is_the_plain_mean_of_table_seven():
    found = c.mean_over_datasets(many("26.1%", "22.4%", "21.8%", "26.9%"), many(*DATASETS), p("24.3%"))
    assert (found.verdict, round(found.value, 4)) == ("conditional", 0.2407)
    charm = c.mean_over_datasets(many("92.5%", "86.1%", "87.8%", "91.2%"), many(*DATASETS), p("89.4%"))
    assert charm.verdict == "consistent"


def test_2_clean_trajectories():
    found = c.total(many("200", "150", "150", "100"), p("500"))
    assert (found.verdict, found.value) == ("inconsistent", 600)


@given(st.integers(1, 500), st.integers(0, 500))
def test_3_a_rate_of_one_run_is_always_consistent(n, k):
    rate = p(f"{100 * min(k, n) / n:.1f}%")
    assert c.single_run_rate(rate, [p(str(n))]).verdict == "consistent"


def test_3_rates_that_need_five_runs():
    assert c.single_run_rate(p("26.1%"), many("500")).verdict == "conditional"
    assert c.single_run_rate(p("4.1%"), many("500", "600")).verdict == "conditional"
    assert c.single_run_rate(p("44.2%"), many("500")).verdict == "consistent"
    assert c.single_run_rate(p("50.3%"), many("2")).verdict == "inconsistent"


def test_4_single_components_and_pairs():
    assert c.single_component(p("0.4"), p("0.55"), p("61.2%")).verdict == "conditional"
    assert c.single_component(p("0.6"), p("0.55"), p("61.2%")).verdict == "consistent"
    assert c.pair_requirement(p("0.4"), p("0.4"), p("0.55")).value == pytest.approx(1.375)
    assert c.renormalised_threshold(p("0.55"), p("0.72")).value == pytest.approx(0.45)


@pytest.mark.parametrize(("raw", "stages"), [("0.8", 3), ("0.9", 5), ("0.5", 0)])
def test_5_stages_at_which_cpm_fires(raw, stages):
    found = c.cpm_stages(p(raw), p("2"), p("0.15"), p("1.4"), p("3.9%"))
    assert found.value == stages
    assert found.verdict == ("inconsistent" if stages else "consistent")


def test_5_uses_the_defaults_of_the_monitor():
    settings = CpmSettings()
    assert settings.temperature == 1.4
    assert settings.prior_mean == 0.5


def test_6_gains():
    assert c.difference(p("86.1%"), p("79.4%"), parse("6.4", percent=True)).verdict == "inconsistent"
    assert c.difference(p("92.5%"), p("86.1%"), parse("6.4", percent=True)).verdict == "consistent"
    found = c.retained_gain(p("79.4%"), parse("4.1", percent=True), p("92.5%"))
    assert (found.verdict, found.value) == ("inconsistent", pytest.approx(0.835))


def test_7_the_trigger_is_arithmetic():
    assert c.aggregation_gain(p("86.1%"), p("92.5%"), p("178"), p("215")).verdict == "inconsistent"
    assert c.total(many("74", "68", "38"), p("178")).value == 180


def test_8_missed_entirely():
    assert c.missed_entirely(p("38.5%"), "RAGAS").verdict == "inconsistent"
    assert c.missed_entirely(p("0.0%"), "RAGAS").verdict == "consistent"


def test_9_terminal_checks():
    found = c.terminal_bound(p("12.8%"), p("5.0"), p("50"), p("200"), 4)
    assert (found.verdict, found.value) == ("inconsistent", 0.0625)


def test_10_detection_depth():
    found = c.detection_depth(p("2.1"), p("1000"), p("450"), p("50"))
    assert (found.verdict, round(found.value, 3)) == ("conditional", 2.155)
    assert c.one_stage_depth(p("1.5"), 1).verdict == "inconsistent"


def test_11_and_12_mitigation():
    assert c.largest_share(p("91.3%"), p("88.4%"), p("95.2%"), "CRR").value == pytest.approx(0.5735, abs=1e-4)
    charm = c.error_reduction(p("89.4%"), p("91.3%"), p("82.1%"), p("100%"))
    assert (charm.verdict, charm.value) == ("conditional", pytest.approx(0.8162, abs=1e-4))
    assert c.error_reduction(p("12.8%"), p("15.2%"), p("8.4%")).verdict == "inconsistent"
    assert c.reduction_without_mitigation(p("18.5%"), "x").verdict == "inconsistent"


def test_13_to_15():
    assert c.gate_from_threshold(p("0.7"), p("0.72"), p("0.02")).value == pytest.approx(0.28)
    assert c.approximates(p("26.1%"), p("61.2%"), 0.05).verdict == "inconsistent"
    assert c.held_out(p("500"), p("500"), p("200"), p("10%")).value == pytest.approx(70)
    assert c.share(p("34"), p("38"), p("89.5%")).verdict == "consistent"

from __future__ import annotations

import pytest

from faultline.attribution.probing import (
    ProbeDiagnoser,
    ProbeSettings,
    propagation_aware,
    suffix_regen,
)
from faultline.attribution.trace_diagnosers import ConstantHop
from faultline.errors import ConfigError
from faultline.faults.hops import HopFault
from tests.agents.hop_world import world
from tests.attribution.failures import exact, failures

CALL = HopFault("content", "call", "hop_fact")
CORPUS = HopFault("content", "corpus", "hop_fact")


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_the_search_order_decides_as_in_the_simulation(depth: int) -> None:
    """The table of the page: call faults 1/0/0 earliest, 1/1/1 latest; corpus faults 1/1/1 both."""
    first, last = suffix_regen(falls_back=False), suffix_regen(order="latest", falls_back=False)
    call = failures("chain", CALL, depth)
    assert exact(first, call, depth) == (1.0 if depth == 1 else 0.0)
    assert exact(last, call, depth) == 1.0
    corpus = failures("chain", CORPUS, depth)
    assert exact(first, corpus, depth) == exact(last, corpus, depth) == 1.0


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_constant_scores_one_at_its_depth_and_nothing_elsewhere(depth: int) -> None:
    cases = failures("chain", CALL, depth)
    for hop in (1, 2, 3):
        assert exact(ConstantHop(hop), cases, depth) == float(hop == depth)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_frozen_repair_finds_only_the_last_hop(depth: int) -> None:
    plan = world("chain").corpus.gold
    for case in failures("chain", CALL, depth):
        found = propagation_aware(falls_back=False).diagnose(case).hop
        assert found == (depth if depth == len(plan[case.id].hops) else 0)


def test_reading_the_union_again_lets_a_frozen_repair_find_earlier_hops() -> None:
    """Why the released records give it .89 at hop 1 although 16 of 44 cases had a suffix."""
    at_one = failures("union", CALL, 1)
    assert all(len(case.hops) > 1 for case in at_one)  # every case has a suffix
    assert exact(propagation_aware(falls_back=False), at_one, 1) > 0.0
    assert exact(propagation_aware(falls_back=False), failures("chain", CALL, 1), 1) == 0.0


def test_binary_search_makes_about_log2_probes() -> None:
    binary = ProbeDiagnoser("b", ProbeSettings("regenerate", "binary", "working", goes_on=False))
    for depth in (1, 3, 5):
        cases = failures("chain", CALL, depth)
        assert exact(binary, cases, depth) == 1.0
        assert all(binary.diagnose(case).probes <= 3 for case in cases)


def test_a_budget_stops_it_and_repeats_are_billed() -> None:
    case = failures("chain", CORPUS, 4)[0]
    assert suffix_regen(budget=2, falls_back=False).diagnose(case).hop == 0
    one, three = (suffix_regen(order="latest", repeats=n).diagnose(case).tokens for n in (1, 3))
    assert three == 3 * one


@pytest.mark.parametrize("wrong", [{"order": "x"}, {"budget": 0}, {"repeats": 0}])
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        ProbeSettings("freeze", **wrong)  # type: ignore[arg-type]

from __future__ import annotations

from dataclasses import replace

import pytest

from faultline.attribution.changepoint import ChangePoint, ChangePointSettings
from faultline.errors import ConfigError
from faultline.faults.hops import HopFault
from faultline.records import Scope
from tests.attribution.failures import exact, failures


@pytest.mark.parametrize("answer_from", ["chain", "union"])
@pytest.mark.parametrize("scope", ["call", "corpus"])
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 6])
def test_it_is_exact_at_every_depth_with_and_without_gold(answer_from: str, scope: Scope, depth: int) -> None:
    cases = failures(answer_from, HopFault("content", scope, "hop_fact"), depth)
    assert exact(ChangePoint(), cases, depth) == 1.0
    assert exact(ChangePoint(needs_gold=False), cases, depth) == 1.0


@pytest.mark.parametrize(
    "name", ["empty", "irrelevant", "false_premise", "stale", "drift", "early_termination"]
)
@pytest.mark.parametrize("depth", [2, 3])
def test_it_is_exact_for_structural_faults(name: str, depth: int) -> None:
    assert exact(ChangePoint(), failures("chain", HopFault(name), depth), depth) == 1.0


def test_probabilities_are_a_distribution_over_the_hops_and_one_more() -> None:
    for case in failures("union", HopFault("stale"), 2):
        found = ChangePoint().diagnose(case)
        assert len(found.probabilities) == len(case.hops) + 1
        assert 0.9 < sum(found.probabilities) <= 1.0 + 1e-9
        assert max(range(len(found.probabilities)), key=found.probabilities.__getitem__) + 1 == found.hop
        assert found.tokens > 0 and found.placebo_tokens > 0 and found.stage == "retrieval"


def test_a_budget_is_kept_and_a_short_one_abstains() -> None:
    case = failures("chain", HopFault("empty"), 3)[-1]
    free = ChangePoint().diagnose(case)
    bounded = ChangePoint(settings=ChangePointSettings(max_probes=1)).diagnose(case)
    assert bounded.probes == 1 < free.probes
    assert bounded.hop == 0 and bounded.reason == "entangled"
    tight = ChangePoint(settings=ChangePointSettings(max_tokens=1)).diagnose(case)
    assert tight.probes == 1


def test_a_right_answer_is_no_failure_for_a_diagnoser_with_gold() -> None:
    case = failures("chain", HopFault("empty"), 1)[0]
    sound = replace(case, answer=case.annotation.answers[0])
    assert ChangePoint().diagnose(sound).stage == "none"


@pytest.mark.parametrize(
    "wrong", [{"confidence": 1.0}, {"abstain": 2.0}, {"persistent": 0.0}, {"stopped": 1.0}]
)
def test_wrong_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="changepoint"):
        ChangePointSettings(**wrong)  # type: ignore[arg-type]

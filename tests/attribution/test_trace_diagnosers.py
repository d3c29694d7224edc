from __future__ import annotations

from dataclasses import replace

import pytest

from faultline.attribution.diagnosis import Case, Diagnoser
from faultline.attribution.trace_diagnosers import (
    DoctorRag,
    FirstUnread,
    JaccardGate,
    RandomHop,
    RecallCoverage,
    RuleBased,
    SubAnswerCoverage,
    jaccard,
    trace_diagnosers,
)
from faultline.errors import ConfigError
from faultline.faults.hops import HopFault
from faultline.interventions.probe import Probe, ProbeResult
from faultline.records import Gold, Hit, Hop, Passage, Stage
from tests.attribution.failures import exact, failures

GOLD = Gold(
    "t", ("Manning",), (Hop("q", "", None, "Dunn", None), Hop("r", "", None, "Manning", None)), (), "x"
)
LONG = " ".join(f"word{i}" for i in range(40))


def no_probe(probe: Probe) -> ProbeResult:
    raise AssertionError(probe)


def hop(index: int, text: str, answer: str | None, query: str = "where is Ada") -> Stage:
    hits = (Hit(Passage(f"p{index}", "", (text,)), 1.0, 1),) if text else ()
    return Stage(index, "retrieval", "", query, hits, answer)


def case(*hops: Stage, answer: str | None = "Bo", gold: Gold | None = GOLD, support: float = 1.0) -> Case:
    return Case("t", "where is Ada", hops, answer, support, gold, no_probe)


CLEAN = case(hop(1, f"Ada is in Dunn {LONG}", "Dunn"), hop(2, f"Manning is there {LONG}", "Manning"))


def test_the_gate_says_hop_one_though_the_answer_is_there() -> None:
    only = case(hop(1, f"Manning is there {LONG}", "Manning"))
    assert JaccardGate().diagnose(only).hop == 1
    assert RecallCoverage().diagnose(only).hop == 0


def test_sub_answers_find_the_hop_and_a_missing_one() -> None:
    assert SubAnswerCoverage().diagnose(CLEAN).hop == 0
    wrong = case(CLEAN.hops[0], hop(2, "nothing", None))
    assert SubAnswerCoverage().diagnose(wrong).hop == 2
    assert SubAnswerCoverage().diagnose(case(CLEAN.hops[0])).hop == 2


def test_rules_in_their_order() -> None:
    empty = case(CLEAN.hops[0], hop(2, "", None))
    found = RuleBased().diagnose(empty)
    assert (found.stage, found.hop) == ("retrieval", 2)
    assert RuleBased().diagnose(case()).stage == "tool"
    assert RuleBased().diagnose(replace(CLEAN, answer=None)).stage == "answer_generation"
    short = case(hop(1, "Manning", "Manning"), answer="Manning")
    assert RuleBased().diagnose(short).stage == "none"


def test_doctor_rag_reads_no_gold_and_splits_by_sufficiency() -> None:
    blind = replace(CLEAN, gold=None)
    assert DoctorRag().diagnose(replace(blind, support=0.0)).hop == 2  # the second query is about Ada
    misread = replace(blind, hops=(CLEAN.hops[0], hop(2, f"Manning {LONG}", "Zed")))
    assert DoctorRag().diagnose(misread).hop == 2
    assert FirstUnread().diagnose(replace(blind, hops=(CLEAN.hops[0], hop(2, "x", None)))).hop == 2


def test_a_random_choice_is_reproducible_and_in_the_trace() -> None:
    hops = {RandomHop(seed).diagnose(CLEAN).hop for seed in range(30)}
    assert hops == {1, 2} and RandomHop(3).diagnose(CLEAN) == RandomHop(3).diagnose(CLEAN)


@pytest.mark.parametrize("diagnoser", trace_diagnosers(), ids=lambda d: d.name)
def test_what_reads_gold_says_so(diagnoser: Diagnoser) -> None:
    blind = replace(CLEAN, gold=None)
    if diagnoser.needs_gold:
        with pytest.raises(ConfigError, match="needs_gold"):
            diagnoser.diagnose(replace(blind, answer="word1 word2 word3"))
    else:
        assert diagnoser.diagnose(blind).hop >= 0


def test_jaccard_of_sets() -> None:
    assert jaccard(["a", "b", "b"], ["b", "c"]) == 1 / 3 and jaccard([], []) == 0.0


def test_the_gate_is_a_constant_on_the_synthetic_world() -> None:
    for depth, score in ((1, 1.0), (2, 0.0), (3, 0.0)):
        cases = failures("chain", HopFault("content", span="hop_fact"), depth)
        assert exact(JaccardGate(), cases, depth) == score

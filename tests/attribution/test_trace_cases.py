"""Foreign traces as cases: hops by hand, and nothing asked of what is not there."""

import pytest

from faultline.attribution.nli_sufficiency import NliSufficiency, pairs_of
from faultline.attribution.panel import panel
from faultline.attribution.trace_cases import READS, case_of, diagnose, hops_of_trace
from faultline.errors import ConfigError
from faultline.interventions.probe import Probe
from faultline.records import Gold, Hit, Hop, Passage, Stage, Trajectory
from faultline.traces.annotation import Annotated

TOWN = Passage("d1", "Arvenholm", ("It was founded by Jonas Brekke in 1900.",))
PAINTER = Passage("d2", "Jonas Brekke", ("Jonas Brekke is a painter from Lund.",))


def trace(*stages, answer="Lund", name="t"):
    made = tuple(
        Stage(i, kind, text, query=query, hits=(Hit(passage, 1.0, 1),) if passage else ())
        for i, (kind, text, query, passage) in enumerate(stages, start=1)
    )
    return Trajectory(f"plain/{name}", "plain", name, "observed", 0, "Where?", made, answer, "gpt")


SPOKEN = trace(
    ("retrieval", TOWN.rendered, "founder", TOWN),
    ("reasoning", "Jonas Brekke founded it.", "", None),
    ("reasoning", "Now his birth place.", "", None),
    ("tool_call", PAINTER.rendered, "Jonas Brekke birth place", PAINTER),
    ("synthesis", "He was born in Lund.", "", None),
)
SILENT = trace(
    ("retrieval", TOWN.rendered, "founder", TOWN),
    ("tool_call", PAINTER.rendered, "Jonas Brekke birth place", PAINTER),
    ("synthesis", "He was born in Lund.", "", None),
    name="silent",
)
GOLD = Gold(
    "t",
    ("Osterby",),
    (Hop("", "", None, "Mira Tolk", None), Hop("", "", None, "Osterby", None)),
    (),
    "trace",
)


def test_each_evidence_is_a_hop_and_what_follows_is_its_reading():
    hops = hops_of_trace(SPOKEN)
    assert [(h.index, h.query, h.answer) for h in hops] == [
        (1, "founder", "Jonas Brekke founded it.\nNow his birth place."),
        (2, "Jonas Brekke birth place", "He was born in Lund."),
    ]
    assert [h.answer for h in hops_of_trace(SILENT)] == [None, "He was born in Lund."]


def test_a_case_is_supported_by_its_best_document_and_cannot_be_probed():
    case = case_of(SPOKEN, None)
    assert case.support == 1.0
    assert case_of(trace(*[("retrieval", "", "q", TOWN)], answer="Lund 1900"), None).support == 0.5
    assert case_of(trace(("retrieval", "", "q", None), answer=None), None).support == 0.0
    with pytest.raises(ConfigError, match="cannot be executed again"):
        case.probes(Probe("repair", 1))


def test_guesses_by_hand():
    asked = [*panel("trace", None, 0), NliSufficiency(dict.fromkeys(pairs_of(hops_of_trace(SPOKEN)[1]), 0.9))]
    asked[-1].entailment.update(dict.fromkeys(pairs_of(hops_of_trace(SPOKEN)[0]), 0.1))
    table = diagnose([SPOKEN], asked, {"t": Annotated(GOLD, 1)}).set_index("system")
    assert (table["missing"] == "").all()
    said = table["said_hop"].to_dict()
    # No document of either hop says Osterby, nor Mira Tolk: coverage blames hop 1.
    assert said["sub_answer_coverage"] == said["gold_recall_coverage"] == said["jaccard_gate"] == 1
    assert said["nli_sufficiency"] == 1
    assert said["constant_hop_2"] == 2
    assert said["first_unread_hop"] == 0  # everything was read
    assert said["random_hop"] in (1, 2)


def test_what_cannot_be_asked_has_a_typed_reason():
    asked = [*panel("trace", None, 0), NliSufficiency(dict.fromkeys(pairs_of(hops_of_trace(SILENT)[1]), 0.9))]
    table = diagnose([SILENT], asked, {}).set_index("system")
    for diagnoser in asked:
        want = "no_annotation" if diagnoser.needs_gold else "no_reading" if diagnoser.name in READS else ""
        assert table.loc[diagnoser.name, "missing"] == want
    assert table["said_hop"].isna().sum() == (table["missing"] != "").sum()


def test_coverage_by_hop_needs_annotated_hops():
    bare = Annotated(Gold("t", ("Osterby",), (), (), "trace"))
    table = diagnose([SPOKEN], panel("trace", None, 0), {"t": bare}).set_index("system")
    missing = table["missing"]
    assert missing["sub_answer_coverage"] == "no_annotation"
    assert missing["gold_recall_coverage"] == missing["rule_based"] == ""


def test_whoever_declares_no_gold_gets_none():
    class Nosy:
        name, needs_gold = "nosy", False

        def diagnose(self, case):
            return case.annotation

    with pytest.raises(ConfigError, match="without needs_gold"):
        diagnose([SPOKEN], [Nosy()], {"t": Annotated(GOLD, 1)})

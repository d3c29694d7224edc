"""The printed part of Table VI, from a results table written by hand."""

from experiments.charm_summary import summary
from faultline.results import Row, frame

INJECTED = "fault=retrieval;scope=call;trust={}"
CLEAN = "fault=none;trust={}"


def row(metric, condition, value, n=10, low=None, high=None, unit="rate", system="charm", **more):
    scored = n if value is not None else 0
    names = {"table": "VI", "dataset": "small", "nli": "nli@1", "embedder": "emb@2", "note": "", **more}
    return Row(
        paper="charm",
        experiment="demo",
        metric=metric,
        system=system,
        condition=condition,
        backbone="reader",
        needs_gold=False,
        value=value,
        low=low,
        high=high,
        unit=unit,
        n_total=n,
        n_scored=scored,
        n_missing=n - scored,
        **names,
    )


def rows_of(trust, strict=0.5, system="charm"):
    condition = INJECTED.format(trust)
    return [
        row("cdr_strict", condition, strict, low=0.25, high=0.75, system=system),
        row("cdr_windowed", condition, 0.6, low=0.3, high=0.8, system=system),
        row("cdr_liberal", condition, None, system=system, note="missing: undefined=10"),
        row("cdd", condition, 1.25, low=1.0, high=1.5, unit="stage", system=system),
        row("fpr", CLEAN.format(trust), 0.125, n=8, low=0.02, high=0.4, system=system),
    ]


POPULATION = [
    row("injected", "trust=0", 10, unit="count", table="population", note="missing: no_span=3;no_donor=1"),
    row("clean", "trust=0", 8, n=8, unit="count", table="population"),
    row("injected", "trust=1", 9, n=9, unit="count", table="population"),
]


def test_one_line_a_system_with_its_intervals():
    tables = summary(frame([*rows_of("0"), *POPULATION]))
    (title,) = (t for t in tables if t.startswith("Detection"))
    assert title == "Detection (paper 1, Table VI) on small, backbone reader; nli@1, emb@2"
    (line,) = tables[title].to_dict("records")
    assert line == {
        "system": "charm",
        "fault": "retrieval",
        "scope": "call",
        "trust": "0",
        "n": 10,
        "CDR strict": "50.0 [25.0, 75.0]",
        "CDR windowed": "60.0 [30.0, 80.0]",
        "CDR liberal": "undefined",
        "CDD": "1.25 [1.00, 1.50]",
        "FPR": "12.5 [2.0, 40.0]",
        "n clean": 8,
    }


def test_lines_that_differ_in_trust_alone_are_one():
    table = frame([*rows_of("0"), *rows_of("1"), *rows_of("0.5", strict=0.4), *POPULATION])
    detection = list(summary(table).values())[1]
    assert detection["trust"].tolist() == ["0, 1", "0.5"]
    assert detection["CDR strict"].tolist() == ["50.0 [25.0, 75.0]", "40.0 [25.0, 75.0]"]


def test_systems_stay_apart_and_repeats_are_left_out():
    repeated = row("cdr_strict", INJECTED.format("0") + ";repeats=3", 0.9, low=0.8, high=1.0)
    table = frame([*rows_of("0"), *rows_of("0", system="never"), repeated, *POPULATION])
    assert list(summary(table).values())[1]["system"].tolist() == ["charm", "never"]


def test_a_metric_that_was_not_measured_is_a_dash():
    only = [r for r in rows_of("0") if r.metric in ("cdr_strict",)]
    (line,) = list(summary(frame([*only, *POPULATION])).values())[1].to_dict("records")
    assert line["CDR windowed"] == line["FPR"] == "-" and line["n clean"] == 0


def test_who_was_in_it_is_the_first_conditions():
    people = summary(frame([*rows_of("0"), *POPULATION]))["Who was in it"]
    assert people.to_dict("records") == [
        {"questions": "injected", "n": 10, "of": 10, "left out": "no_span=3;no_donor=1"},
        {"questions": "clean", "n": 8, "of": 8, "left out": ""},
    ]

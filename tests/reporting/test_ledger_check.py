from dataclasses import replace

import pytest

from faultline import results
from faultline.errors import ConfigError, StoreError
from faultline.printed import parse
from faultline.reporting.ledger import Claim
from faultline.reporting.ledger_check import check, newest_runs, summary
from faultline.reporting.ledger_evidence import Rows
from faultline.ths.rows import row

AT = {"metric": "m", "system": "s", "condition": "stage=front"}
BASE = Claim("ths", "a", "Table 1", "a number", "0.480", parse("0.480"), "recompute", ("reproduced",), AT)


def rows(value=0.4799, system="s", condition="stage=front", low=0.1):
    return row("t", "m", system, condition, value, 10, low=low, high=0.9)


def status(claim, *found):
    return check([claim], {"ths": Rows(results.frame(found))})[0]


def test_half_a_unit_of_the_last_digit_decides():
    assert status(BASE, rows(0.4799)).status == "reproduced"
    assert status(BASE, rows(0.4805)).status == "reproduced"
    off = status(BASE, rows(0.48051))
    assert (off.status, off.unexpected, off.computed) == ("differs", True, 0.48051)


def test_columns_and_transforms():
    low = replace(BASE, evidence={**AT, "column": "low"}, number=parse("0.1"))
    assert status(low, rows()).status == "reproduced"
    turned = replace(BASE, evidence={**AT, "transform": "negate"}, number=parse("-0.480"))
    assert status(turned, rows()).status == "reproduced"


def test_undefined_is_reproduced_only_by_undefined():
    claim = replace(BASE, printed="undefined", number=None)
    assert status(claim, rows(None)).status == "reproduced"
    assert status(claim, rows(0.1)).status == "differs"
    assert status(BASE, rows(None)).status == "differs"


def test_evidence_must_name_one_row():
    with pytest.raises(ConfigError, match="claim ths:a: 0 rows"):
        status(BASE, rows(system="other"))
    loose = replace(BASE, evidence={"metric": "m"})
    with pytest.raises(ConfigError, match="2 rows"):
        status(loose, rows(), rows(system="other"))


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ({"all": [{**AT, "op": ">", "than": 0}]}, "reproduced"),
        ({"all": [{**AT, "op": "<", "than": 0}]}, "differs"),
        (
            {"all": [{**AT, "op": ">", "than": 0}], "weakened_by": [{**AT, "op": ">", "than": 0.4}]},
            "weakened",
        ),
        (
            {"all": [{**AT, "op": ">", "than": 0}], "weakened_by": [{**AT, "op": ">", "than": 0.5}]},
            "reproduced",
        ),
        ({"all": [{**AT, "op": "==", "than": AT}]}, "reproduced"),
    ],
)
def test_statements(tests, expected):
    claim = replace(BASE, kind="statement", printed="", number=None, evidence=tests)
    assert status(claim, rows(0.4799)).status == expected


def test_a_statement_on_an_undefined_row_does_not_hold():
    tests = {"all": [{**AT, "op": ">", "than": 0}]}
    assert status(replace(BASE, kind="statement", evidence=tests), rows(None)).status == "differs"


def consistency(**arguments):
    evidence = {"function": "same", "arguments": arguments}
    return replace(BASE, id="c", kind="consistency", evidence=evidence)


def test_consistency_functions_get_printed_numbers():
    other = replace(BASE, id="b", number=parse("0.9"), kind="not_available", expected=("not_available",))
    found = check([consistency(first="@a", second="@b"), BASE, other], {"ths": Rows(results.frame([rows()]))})
    assert [o.status for o in found] == ["inconsistent", "reproduced", "not_available"]
    filtered = check([consistency(first="@a", second="@a")], {}, among=[BASE, consistency()])
    assert filtered[0].status == "reproduced"


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"function": "nothing"}, "no consistency function nothing"),
        ({"function": "_verdict", "arguments": {"holds": True}}, "no consistency function _verdict"),
        ({"function": "same", "arguments": {"first": "@zz", "second": "@a"}}, "@zz is not a claim"),
        ({"function": "same", "arguments": {"first": "@a"}}, "same: .*second"),
    ],
)
def test_broken_consistency_evidence_is_named(evidence, message):
    claim = replace(BASE, id="c", kind="consistency", evidence=evidence)
    with pytest.raises(ConfigError, match=message):
        check([BASE, claim], {"ths": Rows(results.frame([rows()]))})


def rerun(value, backbone="reader", condition="stage=front;trust=1"):
    return replace(rows(value, condition=condition), backbone=backbone)


def test_reruns_are_filled_from_the_newest_run_that_matches():
    claim = replace(BASE, kind="rerun", expected=("not_run", "reproduced", "differs"))
    other = Rows(results.frame([replace(rerun(0.1), metric="other")]), "exp/2")
    new = Rows(results.frame([rerun(0.48, "gpt-4o")]), "exp/1")
    old = Rows(results.frame([rerun(0.9)]), "exp/0")
    found = check([claim], {}, [other, new, old])[0]
    assert (found.status, found.backbone, found.detail) == ("reproduced", "gpt-4o", "exp/1 on ths_release")
    assert check([claim], {}, [other])[0].status == "not_run"
    elsewhere = replace(claim, evidence={**AT, "dataset": ["hotpotqa", "musique"]})
    assert check([elsewhere], {}, [new])[0].status == "not_run"
    here = replace(claim, evidence={**AT, "dataset": ["hotpotqa", "ths_release"]})
    assert check([here], {}, [new])[0].status == "reproduced"
    both = Rows(results.frame([rerun(0.48), rerun(0.2, condition="stage=front;trust=0")]), "exp/3")
    spread = check([claim], {}, [both])[0]
    assert spread.status == "differs"
    assert "2 rows match, 0.2 to 0.48" in spread.detail


def test_runs_on_disk(tmp_path):
    assert newest_runs(tmp_path / "none") == []
    for i, name in enumerate(("old", "new", "unfinished")):
        folder = tmp_path / "exp" / name
        folder.mkdir(parents=True)
        results.write(results.frame([rerun(float(i)), rows()]), folder / "results.parquet")
        if name != "unfinished":
            (folder / "DONE").touch()
    import os

    os.utime(tmp_path / "exp" / "old" / "DONE", (1, 1))
    found = newest_runs(tmp_path)
    assert [run.run for run in found] == ["exp/new", "exp/old"]
    # released rows are recomputation, not a rerun
    assert len(found[0].matching({"metric": "m"}, exact=False)) == 1
    (tmp_path / "exp" / "new" / "results.parquet").write_bytes(b"no")
    with pytest.raises(StoreError, match="unreadable"):
        newest_runs(tmp_path)


def test_summary_counts_everything():
    found = check([BASE, replace(BASE, id="b", number=parse("0.9"))], {"ths": Rows(results.frame([rows()]))})
    told = summary(found)
    assert told["by_kind"] == {"recompute": 2}
    assert told["by_status"] == {"differs": 1, "reproduced": 1}
    assert told["by_paper"] == {"ths": {"differs": 1, "reproduced": 1}}
    assert told["unexpected"] == ["ths:b"]
    assert len(told["claims"]) == 2

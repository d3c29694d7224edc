import pytest

from faultline.attribution import release, table3, table4
from faultline.errors import DataError
from faultline.results import frame
from faultline.stats import wilson

from . import record_files


def test_cases_and_predictions(tmp_path):
    found = release.load(record_files.write(tmp_path))
    assert len(found.cases) == 4 * 3 * 3
    lost = release.failed(found.cases)
    assert len(lost) == 24
    assert lost["jaccard_gate_hop"].tolist() == [1, 0] * 12
    assert (found.cases["suffix"] == 1).all()


def edit(change):
    body = record_files.content()
    change(body["raw_by_depth"]["2"], body)
    return body


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, b: p["metadata"][0].update(actual_hop=3), "is at hop 3, not at depth 2; a clamped case"),
        (
            lambda p, b: p["metadata"][1].update(absorption="ignored"),
            r"metadata\[1\]: absorption is 'ignored'",
        ),
        (lambda p, b: p["metadata"][1].pop("strategy"), r"metadata\[1\]: field strategy is None"),
        (lambda p, b: p["metadata"][1].update(sample_id="a2"), "sample_id a2 occurs twice"),
        (lambda p, b: p["metadata"][0].update(iterations_used=1), "iterations_used is 1"),
        (lambda p, b: p["recovered_metadata"][0].update(recovered=False), "recovered is False"),
        (lambda p, b: p["predictions"]["llm_judge"].pop(), "llm_judge has 1 predictions of 2"),
        (lambda p, b: p["predictions"].pop("llm_judge"), "diagnosers"),
        (
            lambda p, b: p["predictions"]["llm_judge"].__setitem__(0, ["retrieval", -1, 3]),
            "llm_judge predicts",
        ),
        (
            lambda p, b: b["n_total_by_depth"].update({"2": 9}),
            r"n_total_by_depth\[2\] is 9, the records are 3",
        ),
        (lambda p, b: p["truth"].__setitem__(0, ["retrieval", 1]), "truth is not hop 2"),
        (lambda p, b: b["raw_by_depth"].pop("2"), r"no raw_by_depth\[2\]"),
    ],
)
def test_bad_records_are_named(tmp_path, change, message):
    record_files.write(tmp_path, musique=edit(change))
    with pytest.raises(DataError, match=message) as caught:
        release.load(tmp_path)
    assert "identifiability_openai_gpt-4o-mini_musique" in str(caught.value)


def test_missing_and_unreadable_files(tmp_path):
    with pytest.raises(DataError, match=r"experiments\.fetch fp_release"):
        release.load(tmp_path)
    record_files.write(tmp_path)
    path = next((tmp_path / release.FOLDER).iterdir())
    path.write_text("{")
    with pytest.raises(DataError, match="not JSON"):
        release.load(tmp_path)


def test_rows_on_the_small_release(tmp_path):
    found = release.load(record_files.write(tmp_path))
    table = frame([*table3.compute(found.cases), *table4.compute(found)])
    rows = table.set_index(["table", "metric", "system", "dataset", "condition"])
    exact = [rows.loc[("table3", "exact_hop", "llm_judge", "all", f"depth={d}"), "value"] for d in (1, 2, 3)]
    assert exact == [0.5, 0.0, 0.0]
    constant = rows.loc[("controls", "exact_hop", "constant_hop_2", "all", "depth=2"), "value"]
    assert constant == 1.0
    absorbed = rows.loc[("table4", "absorbed", "all", "all", "depth=1"), "value"]
    assert absorbed == pytest.approx(2 / 3)
    assert rows.loc[("selection", "base_cases", "all", "musique", "agent=gpt-4o-mini;depth=1"), "value"] == 10
    documents = rows.loc[("controls", "exact_hop", "gold_recall_coverage", "all", "depth=all")]
    assert documents["n_missing"] == 24
    assert "not_applicable" in documents["note"]
    empty = rows.loc[("strategies", "exact_hop", "llm_judge", "all", "strategy=bridge_entity")]
    assert (empty["n_total"], empty["note"]) == (0, "undefined: no cases")


def test_without_variation_the_interval_still_says_how_few_cases_there_are(tmp_path):
    lost = release.failed(release.load(record_files.write(tmp_path)).cases)
    same = table3.clustered([1.0] * len(lost), lost)
    questions = len(lost.groupby(["dataset", "sample_id"]))
    assert (same.value, same.n) == (1.0, 24)
    assert same.low == pytest.approx(wilson(questions, questions).low)

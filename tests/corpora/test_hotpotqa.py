"""HotpotQA: three layouts, the quirks of real files, the order of hops, and what is refused."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faultline.corpora.files import read_records
from faultline.corpora.hotpotqa import HotpotQA, HubSource
from faultline.corpora.spans import normalise
from faultline.errors import DataError

DEV = (
    "hotpot_dev_distractor_migres200.jsonl.gz",
    "hotpot_dev_distractor_masarena200.jsonl.gz",
    "hotpot_dev_distractor_hf_first100.json.gz",
)
HARBOUR = ["The Glass Harbour (novel)", ["The Glass Harbour is by Ada Quill.", "", " It sold well."]]
QUILL = ["Ada Quill", ["Ada Quill was a writer.", " She was born in Tarnwick."]]
OTHER = ["Bo Quill", ["Bo Quill was born in Skarholt."]]
RECORD = {
    "_id": "5a",
    "question": "Where was the author of The Glass Harbour born?",
    "answer": "Tarnwick",
    "type": "bridge",
    "level": "hard",
    "context": [OTHER, QUILL, HARBOUR],
    "supporting_facts": [["Ada Quill", 1], ["The Glass Harbour (novel)", 0]],
}


def hub_layout(record):
    """The columns of the hub's version of the data set, and its name for the id."""
    titles, paragraphs = zip(*record["context"], strict=True) if record["context"] else ((), ())
    facts = record["supporting_facts"]
    columns = {"title": list(titles), "sentences": [list(p) for p in paragraphs]}
    support = {"title": [t for t, _ in facts], "sent_id": [i for _, i in facts]}
    rest = {k: v for k, v in record.items() if k not in ("_id", "context", "supporting_facts")}
    return {"id": record["_id"], **rest, "context": columns, "supporting_facts": support}


def load(tmp_path, *records, array=True, **options):
    path = tmp_path / "own.json"
    body = json.dumps(records) if array else "".join(json.dumps(r) + "\n" for r in records)
    path.write_text(body)
    return HotpotQA([str(path)], **options).load()


def hops_of(tmp_path, **changes):
    """The gold record of RECORD with some fields changed, and its passages by title."""
    corpus = load(tmp_path, {**RECORD, **changes})
    titles = {p.id: p.title for p in corpus.passages.values()}
    gold = corpus.gold["5a"]
    return gold, [titles[hop.passage_id] for hop in gold.hops], corpus


@pytest.mark.parametrize(
    ("make", "array"),
    [(lambda r: r, True), (lambda r: r, False), (hub_layout, True), (hub_layout, False)],
    ids=["original", "lines", "hub", "hub-lines"],
)
def test_every_layout_gives_the_same_data_set(tmp_path, make, array):
    reference = load(tmp_path, RECORD)
    other = load(tmp_path, make(RECORD), array=array)
    assert other == reference
    (task,) = other.tasks
    assert (task.id, task.question, task.corpus_ref) == ("5a", RECORD["question"], "5a")
    assert other.gold["5a"].answers == ("Tarnwick",)


def test_a_record_without_an_id_is_named_by_its_question(tmp_path):
    record = {k: v for k, v in RECORD.items() if k != "_id"}
    (one,) = load(tmp_path, record).tasks
    (two,) = load(tmp_path, {**record, "question": "where was author of the glass harbour born"}).tasks
    assert one.id == two.id and one.id.startswith("q-")


def test_blank_sentences_keep_their_place(tmp_path):
    corpus = load(
        tmp_path, {**RECORD, "supporting_facts": [["Ada Quill", 1], ["The Glass Harbour (novel)", 2]]}
    )
    passage = next(p for p in corpus.passages.values() if p.title.startswith("The Glass"))
    assert passage.sentences == tuple(HARBOUR[1])
    assert passage.text == "The Glass Harbour is by Ada Quill. It sold well."
    start, end = corpus.gold["5a"].hops[0].span
    assert passage.text[start:end] == "Ada Quill"


def test_the_span_prefers_the_annotated_sentence(tmp_path):
    quill = ["Ada Quill", ["Ada Quill loved Tarnwick.", " She was born in Tarnwick."]]
    gold, _, corpus = hops_of(tmp_path, context=[OTHER, quill, HARBOUR])
    text = corpus.passages[gold.hops[1].passage_id].text
    assert gold.hops[1].span == (text.rindex("Tarnwick"), len(text) - 1)


def test_the_smallest_context_has_two_paragraphs(tmp_path):
    _, titles, corpus = hops_of(tmp_path, context=[QUILL, HARBOUR])
    assert titles == ["The Glass Harbour (novel)", "Ada Quill"]
    assert len(corpus.pools["5a"]) == 2 and not corpus.skipped


@pytest.mark.parametrize("context", [[], [QUILL], [QUILL, OTHER]])
def test_a_context_without_both_gold_paragraphs_is_counted_in_fullwiki(tmp_path, context):
    corpus = load(tmp_path, {**RECORD, "context": context}, setting="fullwiki")
    assert corpus.tasks == () and corpus.skipped == {"too_few_paragraphs": 1}


@pytest.mark.parametrize("make", [lambda r: r, hub_layout])
def test_a_fullwiki_record_in_a_distractor_run_is_named(tmp_path, make):
    record = make({**RECORD, "context": [QUILL, OTHER]})
    with pytest.raises(
        DataError, match=r"own\.json record 2: gold title 'The Glass Harbour \(novel\)'.*fullwiki"
    ):
        load(tmp_path, make(RECORD), record)


def test_a_repeated_question_is_counted_once(tmp_path):
    corpus = load(tmp_path, RECORD, {**RECORD, "_id": "5b", "question": RECORD["question"].upper()})
    assert [task.id for task in corpus.tasks] == ["5a"] and corpus.skipped == {"repeated_question": 1}


def test_an_id_that_two_questions_share_is_named(tmp_path):
    with pytest.raises(DataError, match=r"own.json record 2: field '_id' '5a' names another question"):
        load(tmp_path, RECORD, {**RECORD, "question": "Another?"})


def test_tasks_are_ordered_by_id_whatever_the_files_say(tmp_path):
    records = [{**RECORD, "_id": name, "question": f"{name}?"} for name in ("c", "a", "b")]
    assert [t.id for t in load(tmp_path, *records).tasks] == ["a", "b", "c"]
    assert load(tmp_path, *records).digest == load(tmp_path, *records[::-1]).digest


def test_equal_paragraphs_are_one_passage_and_the_pool_is_whole(tmp_path):
    corpus = load(
        tmp_path, RECORD, {**RECORD, "_id": "5b", "question": "Other?", "context": [QUILL, HARBOUR]}
    )
    assert len(corpus.passages) == 3
    assert set(corpus.pools) == {"5a", "5b", "all"}
    assert corpus.pools["all"] == tuple(sorted(corpus.passages))
    assert set(corpus.pools["5b"]) < set(corpus.pools["5a"])


# Which paragraph comes first (the rules of the module's docstring, branch by branch)
NEITHER_A = ["Salt", ["Salt is old."]]
NEITHER_B = ["Pepper", ["Pepper comes from Tarnwick."]]
BOTH_A = ["Salt", ["Salt and Pepper are old."]]
BOTH_B = ["Pepper", ["Pepper, like Salt, comes from Tarnwick."]]
NAMES_AND_HOLDS = ["Salt", ["Salt is sold with Pepper in Tarnwick."]]
PLAIN = ["Pepper", ["Pepper is black."]]
BOTH_HOLD_A = ["Salt", ["Salt comes from Tarnwick."]]


@pytest.mark.parametrize(
    ("a", "b", "order", "bridge"),
    [
        (HARBOUR, QUILL, ["The Glass Harbour (novel)", "Ada Quill"], "Ada Quill"),
        (QUILL, HARBOUR, ["The Glass Harbour (novel)", "Ada Quill"], "Ada Quill"),
        (NEITHER_A, NEITHER_B, ["Salt", "Pepper"], "Salt"),
        (NEITHER_B, NEITHER_A, ["Salt", "Pepper"], "Salt"),
        (BOTH_A, BOTH_B, ["Salt", "Pepper"], "Pepper"),
        (BOTH_B, BOTH_A, ["Salt", "Pepper"], "Pepper"),
        (BOTH_HOLD_A, NEITHER_B, ["Salt", "Pepper"], "Salt"),
        (NEITHER_B, BOTH_HOLD_A, ["Pepper", "Salt"], "Pepper"),
        (NAMES_AND_HOLDS, PLAIN, ["Pepper", "Salt"], "Pepper"),
        (PLAIN, NAMES_AND_HOLDS, ["Pepper", "Salt"], "Pepper"),
    ],
    ids=["a-names", "b-names", "neither", "neither-b", "both", "both-b", "hold", "hold-b", "last", "last-b"],
)
def test_the_order_of_hops(tmp_path, a, b, order, bridge):
    facts = [[a[0], 0], [b[0], 0]]
    gold, titles, corpus = hops_of(tmp_path, context=[a, OTHER, b], supporting_facts=facts)
    assert titles == order
    assert gold.hops[0].answer == bridge
    assert gold.answer_hop == 2 and gold.hops[1].answer == "Tarnwick"
    assert gold.hops[1].entity == "#1" and gold.hops[1].depends_on == (1,)
    assert gold.hops[0].query == RECORD["question"] and gold.hops[1].query.startswith("#1 ")
    for hop in gold.hops:
        start, end = hop.span
        assert corpus.passages[hop.passage_id].text[start:end].lower() == hop.answer.lower()


def test_a_bridge_whose_answer_stands_nowhere_has_no_answer_hop(tmp_path):
    gold, _, _ = hops_of(tmp_path, answer="yes")
    assert gold.answer_hop is None and gold.hops[1].span is None and len(gold.hops) == 2


def test_a_comparison_has_two_independent_hops(tmp_path):
    gold, titles, _ = hops_of(tmp_path, type="comparison", answer="Ada Quill", question="Who wrote more?")
    assert titles == ["Ada Quill", "The Glass Harbour (novel)"]
    assert [hop.depends_on for hop in gold.hops] == [(), ()]
    assert [hop.entity for hop in gold.hops] == ["Ada Quill", "The Glass Harbour"]
    assert gold.answer_hop == 1 and gold.hops[0].answer == "Ada Quill"


def test_a_yes_no_comparison_has_no_answer_hop(tmp_path):
    gold, _, _ = hops_of(tmp_path, type="comparison", answer="no")
    assert gold.answer_hop is None and [hop.answer for hop in gold.hops] == ["Ada Quill", "The Glass Harbour"]


def test_a_comparison_by_a_value_in_the_text(tmp_path):
    gold, _, _ = hops_of(tmp_path, type="comparison", answer="Tarnwick")
    assert gold.answer_hop == 1 and gold.hops[0].answer == "Tarnwick"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("question", ..., "field 'question' is missing"),
        ("question", 3, "field 'question' is int"),
        ("answer", None, "field 'answer' is NoneType, expected str"),
        ("type", ..., "field 'type' is missing"),
        ("context", ..., "field 'context' is missing"),
        ("context", "x", "field 'context' is str, expected list or dict"),
        ("context", [["T"]], "field 'context' paragraph 1 is not"),
        ("context", [QUILL, ["T", [1]]], "field 'context' paragraph 2 is not"),
        ("context", [QUILL, ["T", None]], "field 'context' paragraph 2 is not"),
        ("context", [QUILL, 3], "field 'context' paragraph 2 is not"),
        ("context", [QUILL, ["T", "text"]], "field 'context' paragraph 2 is not"),
        ("context", {"title": ["A"]}, "field 'context': field 'sentences' is missing"),
        (
            "context",
            {"title": ["A", "B"], "sentences": [["x"]]},
            "field 'context' has 2 titles, 1 paragraphs",
        ),
        ("supporting_facts", ..., "field 'supporting_facts' is missing"),
        ("supporting_facts", [["T"]], r"field 'supporting_facts' holds \['T'\]"),
        ("supporting_facts", [["T", "0"]], "field 'supporting_facts' holds"),
        ("supporting_facts", [3], "field 'supporting_facts' holds 3"),
        ("supporting_facts", {"title": ["A"]}, "field 'sent_id' is missing"),
        ("supporting_facts", {"title": ["A"], "sent_id": []}, "field 'supporting_facts' has 1 titles, 0"),
    ],
)
def test_a_broken_field_is_named(tmp_path, field, value, words):
    record = {k: v for k, v in {**RECORD, field: value}.items() if v is not ...}
    with pytest.raises(DataError, match=rf"own\.json record 2:? {words}") as caught:
        load(tmp_path, RECORD, record)
    assert "\n" not in str(caught.value)


def test_a_setting_of_another_name_is_refused():
    with pytest.raises(DataError, match="setting=open: choose distractor or fullwiki"):
        HotpotQA([], setting="open")


def test_without_any_data_the_remedies_are_named(monkeypatch):
    monkeypatch.delenv("FAULTLINE_DATA_DIR", raising=False)
    with pytest.raises(DataError, match=r"no data; set FAULTLINE_DATA_DIR .* or use corpora=synthetic"):
        HotpotQA(["x.json"]).load()


def test_a_relative_file_beside_an_absolute_one_needs_the_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("FAULTLINE_DATA_DIR", raising=False)
    (tmp_path / "own.json").write_text(json.dumps([RECORD]))
    with pytest.raises(DataError, match=r"corpora.files: x.json is relative; set FAULTLINE_DATA_DIR"):
        HotpotQA([str(tmp_path / "own.json"), "x.json"]).load()


def test_a_file_of_the_data_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(DataError, match=r"hotpotqa/x.json: no such file"):
        HotpotQA(["x.json"], folder=str(tmp_path)).load()


HUB = {
    "repository": "hotpotqa/hotpot_qa",
    "configuration": "distractor",
    "split": "validation",
    "revision": "1908d6af0",
}


def test_the_hub_offline_is_one_line_with_the_remedies(tmp_path):
    code = (
        "from faultline.corpora.hotpotqa import HotpotQA\n"
        "from faultline.errors import DataError\n"
        f"try:\n    HotpotQA([], hub={HUB!r}).load()\n"
        "except DataError as error:\n    print(error)\n"
    )
    blank = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "FAULTLINE_DATA_DIR": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **blank}, check=False
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith("corpora=hotpotqa: hotpotqa/hotpot_qa@1908d6af is not to be had (")
    assert "set FAULTLINE_DATA_DIR" in line and "or use corpora=synthetic" in line


def test_rows_of_the_hub_are_read_through_datasets(tmp_path, monkeypatch):
    """A local data set in the hub's layout, loaded by the same call that asks the hub."""
    import datasets

    path = tmp_path / "hub" / "validation.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps(hub_layout(RECORD)) + "\n")
    monkeypatch.delenv("FAULTLINE_DATA_DIR", raising=False)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    real = datasets.load_dataset

    def from_disk(repository, configuration, *, split, revision):
        assert (repository, configuration, split, revision) == tuple(HUB.values())
        return real("json", data_files={split: str(path)}, split=split, cache_dir=str(tmp_path / "cache"))

    monkeypatch.setattr(datasets, "load_dataset", from_disk)
    assert HotpotQA([], hub=HubSource(**HUB)).load() == load(tmp_path, RECORD)


@pytest.fixture(scope="module")
def dev(data_dir):
    return HotpotQA(DEV, folder=str(data_dir)).load()


@pytest.mark.data
def test_the_dev_files_hold_489_distinct_questions(data_dir, dev):
    questions = [r["question"] for name in DEV for _, r in read_records(data_dir / "hotpotqa" / name)]
    assert len(questions) == 500
    assert len(dev.tasks) == len({normalise(q) for q in questions}) == 489
    assert dev.skipped == {"repeated_question": 11}
    assert {normalise(task.question) for task in dev.tasks} == {normalise(q) for q in questions}


@pytest.mark.data
def test_every_annotation_of_the_dev_files_holds(dev):
    for task in dev.tasks:
        gold = dev.gold[task.id]
        assert len(gold.hops) == 2 and set(gold.support) <= set(dev.pools[task.corpus_ref])
        assert 2 <= len(dev.pools[task.corpus_ref]) <= 10
        for hop in gold.hops:
            if hop.span is not None:
                start, end = hop.span
                assert dev.passages[hop.passage_id].text[start:end].lower() == hop.answer.lower()
        if gold.answer_hop is not None:
            assert normalise(gold.hops[gold.answer_hop - 1].answer) == normalise(gold.answers[0])


@pytest.mark.data
def test_the_fullwiki_file_is_refused_and_readable_as_what_it_is(data_dir):
    name = "hotpot_dev_fullwiki_amor500.json.gz"
    with pytest.raises(DataError, match=rf"{name} line 1: gold title .* fullwiki file"):
        HotpotQA([name], folder=str(data_dir)).load()
    corpus = HotpotQA([name], setting="fullwiki", folder=str(data_dir)).load()
    assert len(corpus.tasks) == 151 and corpus.skipped == {"too_few_paragraphs": 349}


@pytest.mark.data
def test_a_broken_record_in_a_real_file_is_named(data_dir, tmp_path):
    lines = gzip.decompress((data_dir / "hotpotqa" / DEV[0]).read_bytes()).splitlines()[:5]
    lines[2] = lines[2].replace(b'"answer"', b'"anwser"', 1)
    path = Path(tmp_path / "cut.jsonl")
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(DataError, match=r"cut.jsonl line 3: field 'answer' is missing"):
        HotpotQA([str(path)]).load()

"""A user's own questions: what is read, and what is named when a record is broken."""

import json

import pytest

from faultline.corpora.jsonl import JsonLines
from faultline.errors import DataError
from faultline.records import Hop, Passage, Task

GOOD = {
    "id": "q1",
    "question": "Where was the author of The Glass Harbour born?",
    "answers": ["Tarnwick", "the town of Tarnwick"],
    "type": "bridge",
    "passages": [
        {"id": "a", "title": "The Glass Harbour", "sentences": ["It is by Ada Quill.", " It sold well."]},
        {"title": "Ada Quill", "text": "She was born in Tarnwick."},
    ],
    "hops": [
        {"query": "Who wrote The Glass Harbour?", "passage": "a", "answer": "Ada Quill"},
        {"query": "Where was #1 born?", "passage": 1, "answer": "Tarnwick"},
    ],
}


def load(tmp_path, *records):
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return JsonLines(str(path), "own").load()


def test_a_whole_record(tmp_path):
    corpus = load(tmp_path, GOOD)
    assert (corpus.name, corpus.version) == ("own", 1)
    assert corpus.tasks == (Task("q1", GOOD["question"], "q1"),)
    gold = corpus.gold["q1"]
    second = next(i for i in corpus.pools["q1"] if i != "a")
    assert corpus.passages["a"] == Passage(
        "a", "The Glass Harbour", ("It is by Ada Quill.", " It sold well.")
    )
    assert corpus.passages[second].text == "She was born in Tarnwick."
    assert gold.answers == ("Tarnwick", "the town of Tarnwick")
    assert (gold.question_type, gold.answer_hop, gold.support) == ("bridge", 2, ("a", second))
    assert gold.hops == (
        Hop("Who wrote The Glass Harbour?", "", "a", "Ada Quill", (9, 18), "person", ()),
        Hop("Where was #1 born?", "#1", second, "Tarnwick", (16, 24), gold.hops[1].kind, (1,)),
    )
    assert corpus.pools["all"] == tuple(sorted(corpus.passages))


def test_the_least_that_a_record_needs(tmp_path):
    corpus = load(tmp_path, {"question": "Q?", "answer": "A", "passages": [{"text": "A."}]})
    (task,) = corpus.tasks
    assert task.id == "line-000001"
    assert corpus.gold[task.id].hops == () and corpus.gold[task.id].answer_hop is None
    assert corpus.gold[task.id].question_type == "own"


def test_an_answer_that_stands_in_no_passage_has_no_span(tmp_path):
    record = json.loads(json.dumps(GOOD))
    record["hops"][1]["answer"] = "Elsewhere"
    gold = load(tmp_path, record).gold["q1"]
    assert gold.hops[1].span is None and gold.answer_hop is None


def test_passages_are_shared_and_the_digest_follows_the_content(tmp_path):
    twin = {**GOOD, "id": "q2"}
    both = load(tmp_path, GOOD, twin)
    assert len(both.passages) == 2 and both.pools["q1"] == both.pools["q2"]
    assert load(tmp_path, GOOD, twin).digest == both.digest != load(tmp_path, GOOD).digest


def changed(path, value):
    """GOOD with one field changed, or without it where the value is ``...``."""
    record = json.loads(json.dumps(GOOD))
    *front, last = path
    place = record
    for key in front:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return record


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (changed(["question"], ...), "line 1: field 'question' is missing"),
        (changed(["question"], 3), "line 1: field 'question' is int, expected str"),
        (changed(["passages"], ...), "line 1: field 'passages' is missing"),
        (changed(["passages"], "text"), "line 1: field 'passages' is str, expected list"),
        (changed(["passages"], []), "line 1: field 'passages' is empty"),
        (changed(["passages", 1], "text"), "line 1 passage 1: expected an object"),
        (changed(["passages", 1, "text"], ...), "line 1 passage 1: field 'text' is missing"),
        (changed(["passages", 1, "text"], None), "line 1 passage 1: field 'text' is NoneType"),
        (changed(["passages", 0, "sentences"], [1]), "line 1 passage 0: field 'sentences' must be a list"),
        (changed(["passages", 0, "sentences"], "one"), "line 1 passage 0: field 'sentences' must be a list"),
        (changed(["passages", 0, "sentences"], 4), "line 1 passage 0: field 'sentences' must be a list"),
        (changed(["answers"], ...), "line 1: field 'answers' is missing"),
        (changed(["answers"], "Tarnwick"), "line 1: field 'answers' is missing or not a list"),
        (changed(["answers"], []), "line 1: field 'answers' is missing or not a list"),
        (changed(["answers"], [1]), "line 1: field 'answers' is missing or not a list"),
        (changed(["hops"], 4), "line 1: field 'hops' is int, expected list"),
        (changed(["hops", 0], "x"), "line 1 hop 1: expected an object"),
        (changed(["hops", 0, "query"], ...), "line 1 hop 1: field 'query' is missing"),
        (changed(["hops", 1, "answer"], ...), "line 1 hop 2: field 'answer' is missing"),
        (changed(["hops", 1, "passage"], ...), "line 1 hop 2: field 'passage' is missing"),
        (changed(["hops", 1, "passage"], 2), "line 1 hop 2: field 'passage' 2 is none of"),
        (changed(["hops", 1, "passage"], "z"), "line 1 hop 2: field 'passage' 'z' is none of"),
    ],
)
def test_a_broken_field_is_named(tmp_path, record, words):
    with pytest.raises(DataError, match=rf"own\.jsonl {words}") as caught:
        load(tmp_path, record)
    assert "\n" not in str(caught.value)


def test_ids_that_repeat_are_named(tmp_path):
    with pytest.raises(DataError, match=r"own.jsonl line 2: field 'id' 'q1' occurs twice"):
        load(tmp_path, GOOD, GOOD)
    other = changed(["passages", 0, "title"], "Another")
    other["id"] = "q2"
    with pytest.raises(DataError, match="line 2: passage id 'a' already names another text"):
        load(tmp_path, GOOD, other)


@pytest.mark.parametrize("path", ["", "???", None])
def test_without_a_path_the_option_is_named(path):
    with pytest.raises(DataError, match=r"corpora=jsonl: no file; name it with corpora\.path=FILE"):
        JsonLines(path).load()

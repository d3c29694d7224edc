from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from faultline.corpora import splits
from faultline.corpora.musique import MuSiQue
from faultline.errors import DataError

FILES = ["musique_ans_dev_migres200.jsonl.gz", "musique_full_dev_swarmbot100.json.gz"]


def record(**changes: Any) -> dict[str, Any]:
    base = {
        "id": "2hop__1_2",
        "question": "What is the capital of the county of Ada?",
        "question_decomposition": [
            {"id": 1, "question": "Ada >> county", "answer": "Dunn", "paragraph_support_idx": 0},
            {"id": 2, "question": "#1 >> capital", "answer": "Manning", "paragraph_support_idx": 2},
        ],
        "answer": "Manning",
        "answer_aliases": ["Manning, ND"],
        "paragraphs": [
            {"idx": 0, "title": "Ada", "paragraph_text": "Ada is a town. It lies in Dunn."},
            {"idx": 1, "title": "Ada", "paragraph_text": "Ada is a name."},
            {"idx": 2, "title": "Dunn", "paragraph_text": "The capital of Dunn is Manning."},
        ],
        "answerable": True,
    }
    return {**base, **changes}


def write(path: Path, *records: dict[str, Any]) -> str:
    path.write_text("\n".join(json.dumps(r) for r in records))
    return str(path)


def test_hops_follow_the_decomposition(tmp_path: Path) -> None:
    corpus = MuSiQue([write(tmp_path / "m.jsonl", record())]).load()
    gold = corpus.gold["2hop__1_2"]
    first, second = gold.hops
    assert gold.answers == ("Manning", "Manning, ND") and gold.answer_hop == 2
    assert first.entity == "Ada" and second.entity == "#1" and second.depends_on == (1,)
    passage = corpus.passages[first.passage_id or ""]
    assert passage.text == "Ada is a town. It lies in Dunn." and len(passage.sentences) == 2
    assert first.span is not None and passage.text[slice(*first.span)] == "Dunn"
    assert len(corpus.pools["2hop__1_2"]) == 3  # two paragraphs share a title: the title is not a key


def test_unanswerable_records_are_counted_or_kept(tmp_path: Path) -> None:
    steps = [dict(s, paragraph_support_idx=None) for s in record()["question_decomposition"]]
    other = record(question_decomposition=steps)
    path = write(tmp_path / "m.jsonl", record(), other)
    answerable = MuSiQue([path]).load()
    assert len(answerable.tasks) == 1 and answerable.skipped == {"unanswerable": 1}
    full = MuSiQue([path], "full").load()
    gold = full.gold["2hop__1_2-unanswerable"]
    assert len(full.tasks) == 2 and gold.answer_hop is None and gold.question_type == "2hop-unanswerable"


def test_short_questions_stay_in_the_pool(tmp_path: Path) -> None:
    corpus = MuSiQue([write(tmp_path / "m.jsonl", record())], hops=3).load()
    assert not corpus.tasks and len(corpus.pools["all"]) == 3 and corpus.skipped == {"too_few_hops": 1}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"paragraphs": []}, "paragraphs"),
        ({"answer": 3}, "answer"),
        (
            {
                "question_decomposition": [
                    {"id": 1, "question": "Ada >> x", "answer": "D", "paragraph_support_idx": 9}
                ]
            },
            "paragraph_support_idx",
        ),
        (
            {
                "question_decomposition": [
                    {"id": 1, "question": "#7 >> x", "answer": "D", "paragraph_support_idx": 0}
                ]
            },
            "question",
        ),
    ],
)
def test_a_broken_record_is_named(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    path = write(tmp_path / "m.jsonl", record(), record(id="x", **changes))
    with pytest.raises(DataError, match=rf"m\.jsonl line 2.*'{named}'"):
        MuSiQue([path]).load()


def test_a_file_without_paragraphs_is_refused(tmp_path: Path) -> None:
    bare = {key: value for key, value in record().items() if key != "paragraphs"}
    with pytest.raises(DataError, match="use a file that has the paragraphs"):
        MuSiQue([write(tmp_path / "m.jsonl", bare)]).load()


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("FAULTLINE_DATA_DIR"), reason="FAULTLINE_DATA_DIR is not set")
def test_the_dev_files_hold_what_their_sources_say() -> None:
    corpus = MuSiQue(FILES, "full").load()
    kinds = Counter(g.question_type.split("-")[0][:4] for g in corpus.gold.values() if g.answer_hop)
    assert kinds == {"2hop": 174, "3hop": 43, "4hop": 32}
    assert sum(g.answer_hop is None for g in corpus.gold.values()) == 48
    assert splits.check(corpus.name, "test", corpus.tasks) == len(corpus.tasks)
    for gold in corpus.gold.values():
        for hop in gold.hops:
            if hop.span is not None:
                text = corpus.passages[hop.passage_id or ""].text
                assert text[slice(*hop.span)].lower() == hop.answer.lower()

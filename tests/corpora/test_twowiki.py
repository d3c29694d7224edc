from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from faultline.corpora.twowiki import TwoWiki
from faultline.errors import DataError


def record(**changes: Any) -> dict[str, Any]:
    base = {
        "_id": "a",
        "type": "compositional",
        "question": "Where is Ada's father buried?",
        "context": [
            ["Cork", ["Cork is a city."]],
            ["Ada", ["Ada is a singer.", "Her father was Bo Lind."]],
            ["Bo Lind", ["Bo Lind was a judge.", "He is buried in Cork."]],
        ],
        "supporting_facts": [["Ada", 1], ["Bo Lind", 1]],
        "evidences": [["Ada", "father", "Bo Lind"], ["Bo Lind", "place of burial", "Cork"]],
        "answer": "Cork",
    }
    return {**base, **changes}


def write(path: Path, *records: dict[str, Any]) -> str:
    path.write_text(json.dumps(list(records)))
    return str(path)


def test_triples_are_the_hops(tmp_path: Path) -> None:
    corpus = TwoWiki([write(tmp_path / "w.json", record())]).load()
    gold = corpus.gold["a"]
    first, second = gold.hops
    assert (first.query, second.query) == ("Ada >> father", "#1 >> place of burial")
    assert (first.entity, second.entity, second.depends_on) == ("Ada", "#1", (1,))
    passage = corpus.passages[second.passage_id or ""]
    assert passage.title == "Bo Lind" and passage.text == "Bo Lind was a judge. He is buried in Cork."
    assert second.span is not None and passage.text[slice(*second.span)] == "Cork" and gold.answer_hop == 2


def test_what_cannot_be_used_is_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "w.json", record(), record(), record(_id="b", evidences=[]))
    assert TwoWiki([path]).load().skipped == {"repeated_question": 1, "no_evidences": 1}


@pytest.mark.parametrize(
    ("changes", "named"), [({"evidences": [["a", "b"]]}, "evidences"), ({"context": [["a"]]}, "context")]
)
def test_a_broken_record_is_named(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(DataError, match=rf"w\.json record 1.*{named}"):
        TwoWiki([write(tmp_path / "w.json", record(**changes))]).load()


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("FAULTLINE_DATA_DIR"), reason="FAULTLINE_DATA_DIR is not set")
def test_the_dev_files_hold_what_their_sources_say() -> None:
    corpus = TwoWiki(["2wiki_dev_tts500.json.gz", "2wiki_dev_migres164.jsonl.gz"]).load()
    assert len(corpus.tasks) == 657 and corpus.skipped == {"repeated_question": 7}
    kinds = Counter(gold.question_type for gold in corpus.gold.values())
    assert kinds == {"compositional": 256, "bridge_comparison": 172, "comparison": 155, "inference": 74}

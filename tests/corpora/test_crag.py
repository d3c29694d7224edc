from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from faultline.corpora.crag import LICENCE, Crag


def test_snippets_are_the_passages(tmp_path: Path) -> None:
    results = [
        {"page_name": "P", "page_snippet": "<b>Ada</b> &amp; Bo."},
        {"page_name": "Q", "page_snippet": ""},
    ]
    row = {
        "interaction_id": "i",
        "query": "who?",
        "answer": "Bo",
        "alternative_answers": '["B."]',
        "question_type": "simple",
        "search_results": results,
    }
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps(row))
    corpus = Crag(str(path)).load()
    assert [p.rendered for p in corpus.passages.values()] == ["P: Ada & Bo."]
    assert corpus.gold["i"].answers == ("Bo", "B.") and not corpus.gold["i"].hops
    assert corpus.skipped == {"no_snippet": 1} and "non-commercial" in LICENCE


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("FAULTLINE_DATA_DIR"), reason="FAULTLINE_DATA_DIR is not set")
def test_the_example_file_has_ten_records() -> None:
    assert len(Crag().load().tasks) == 10

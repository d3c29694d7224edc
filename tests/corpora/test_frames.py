from __future__ import annotations

import json
from pathlib import Path

import pytest

from faultline.corpora.frames import Frames
from faultline.errors import DataError

LINK = "https://en.wikipedia.org/wiki/Ada_Town"


def questions(path: Path) -> str:
    row = {
        "id": "0",
        "Question": "Who founded Ada?",
        "Answer": "Bo",
        "reasoning_types": "Multiple constraints",
        "wiki_links": f"['{LINK}']",
    }
    path.write_text(json.dumps(row))
    return str(path)


def test_it_refuses_to_run_without_articles(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no article text; .*corpora\.articles"):
        Frames(questions(tmp_path / "q.jsonl")).load()


def test_articles_of_the_user_become_the_pool(tmp_path: Path) -> None:
    articles = tmp_path / "a.jsonl"
    articles.write_text(json.dumps({"link": LINK, "text": "Ada was founded by Bo. It is small."}))
    corpus = Frames(questions(tmp_path / "q.jsonl"), str(articles)).load()
    (identity,) = corpus.pools["frames-0"]
    assert corpus.passages[identity].title == "Ada Town" and len(corpus.passages[identity].sentences) == 2


def test_a_missing_article_is_named(tmp_path: Path) -> None:
    articles = tmp_path / "a.jsonl"
    articles.write_text(json.dumps({"link": "other", "text": "x"}))
    with pytest.raises(DataError, match="Ada_Town"):
        Frames(questions(tmp_path / "q.jsonl"), str(articles)).load()

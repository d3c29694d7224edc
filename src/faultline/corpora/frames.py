"""FRAMES (Krishna et al. 2024): questions, answers and article links; the article text is not part of it.

A run needs the articles: a JSON Lines file with ``link`` and ``text`` (and optionally ``title``). Without it
the loader refuses, since no retrieval over nothing would be a measurement.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from faultline.corpora.digest import corpus_digest
from faultline.corpora.files import DATA_DIR, data_dir, field, read_records
from faultline.corpora.sentences import split_sentences
from faultline.errors import DataError
from faultline.records import Gold, LoadedCorpus, Passage, Task


class Frames:
    """FRAMES questions over articles that the user supplies.

    Args:
        file: The questions, relative to the data folder's ``frames/``, or an absolute path.
        articles: JSON Lines of the articles, or None.
        folder: Data folder; default ``FAULTLINE_DATA_DIR``.
    """

    name = "frames"
    version = 1
    split = "test"

    def __init__(
        self, file: str = "frames_824.json.gz", articles: str | None = None, folder: str | None = None
    ) -> None:
        self.file = file
        self.articles = articles
        self._folder = folder

    def questions(self) -> tuple[tuple[Task, Gold, tuple[str, ...]], ...]:
        """Task, gold and article links of each question.

        Raises:
            DataError: The file is missing or broken; file, record and field are named.
        """
        path = Path(self.file)
        if not path.is_absolute():
            root = data_dir(self._folder)
            if root is None:
                raise DataError(f"corpora=frames: no data; set {DATA_DIR} to a folder that holds frames/")
            path = root / "frames" / self.file
        return tuple(_question(record, where) for where, record in read_records(path))

    def load(self) -> LoadedCorpus:
        """Questions with the articles that they link to.

        Raises:
            DataError: There are no articles, or a linked article is not among them.
        """
        questions = self.questions()
        if self.articles is None:
            raise DataError(
                f"corpora=frames: {len(questions)} questions, but no article text; name a JSON Lines file of "
                "articles (link, text) with corpora.articles=FILE"
            )
        by_link = dict(_article(record, where) for where, record in read_records(Path(self.articles)))
        pools: dict[str, tuple[str, ...]] = {}
        for task, _, links in questions:
            absent = next((link for link in links if link not in by_link), None)
            if absent is not None:
                raise DataError(f"{self.articles}: no article {absent!r}, which question {task.id} links to")
            pools[task.id] = tuple(by_link[link].id for link in links)
        passages = {p.id: p for p in by_link.values()}
        pools["all"] = tuple(sorted(passages))
        tasks = tuple(task for task, _, _ in questions)
        gold = {task.id: g for task, g, _ in questions}
        digest = corpus_digest(tasks, gold, passages, pools)
        return LoadedCorpus(self.name, self.version, tasks, gold, passages, pools, digest)


def _question(record: Mapping[str, Any], where: str) -> tuple[Task, Gold, tuple[str, ...]]:
    identity = f"frames-{field(record, 'id', (str, int), where)}"
    links = _links(field(record, "wiki_links", (str, list), where), where)
    task = Task(identity, field(record, "Question", str, where), identity)
    kind = field(record, "reasoning_types", str, where)
    return task, Gold(identity, (field(record, "Answer", str, where),), (), (), kind), links


def _links(raw: str | Sequence[str], where: str) -> tuple[str, ...]:
    """The links; the published field is a Python literal in a string."""
    if isinstance(raw, str):
        try:
            raw = ast.literal_eval(raw)
        except (ValueError, SyntaxError) as error:
            raise DataError(
                f"{where}: field 'wiki_links' is not a list ({error}); repair the record"
            ) from error
    return tuple(dict.fromkeys(str(link) for link in raw))


def _article(record: Mapping[str, Any], where: str) -> tuple[str, Passage]:
    link = field(record, "link", str, where)
    title = str(record.get("title") or unquote(link.rsplit("/", 1)[-1]).replace("_", " "))
    draft = Passage("", title, split_sentences(field(record, "text", str, where)))
    return link, Passage(f"p-{draft.content_hash}", draft.title, draft.sentences)

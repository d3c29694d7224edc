"""CRAG (Yang et al. 2024): ten example records, single-turn, with the snippets of their search results.

The data are CC BY-NC 4.0, for non-commercial use only. No decompositions, so the reader has no plan;
a language model needs none.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from faultline.corpora.digest import corpus_digest
from faultline.corpora.files import DATA_DIR, data_dir, field, read_records
from faultline.corpora.sentences import split_sentences
from faultline.errors import DataError
from faultline.records import Gold, LoadedCorpus, Passage, Task

LICENCE = "CC BY-NC 4.0: non-commercial use only"
_TAG = re.compile(r"<[^>]+>")


class Crag:
    """CRAG questions over the snippets of their own search results.

    Args:
        file: The records, relative to the data folder's ``crag/``, or an absolute path.
        folder: Data folder; default ``FAULTLINE_DATA_DIR``.
    """

    name = "crag"
    version = 1
    split = "test"

    def __init__(self, file: str = "crag_example10.jsonl.bz2", folder: str | None = None) -> None:
        self.file = file
        self._folder = folder

    def load(self) -> LoadedCorpus:
        """Read every record; results without a snippet are skipped and counted.

        Raises:
            DataError: The file is missing or broken; file, record and field are named.
        """
        path = Path(self.file)
        if not path.is_absolute():
            root = data_dir(self._folder)
            if root is None:
                raise DataError(f"corpora=crag: no data; set {DATA_DIR} to a folder that holds crag/")
            path = root / "crag" / self.file
        tasks: list[Task] = []
        gold: dict[str, Gold] = {}
        passages: dict[str, Passage] = {}
        pools: dict[str, tuple[str, ...]] = {}
        skipped: Counter[str] = Counter()
        for where, record in read_records(path):
            identity = field(record, "interaction_id", str, where)
            own = _passages(record, where, skipped)
            if not own:
                skipped["no_paragraphs"] += 1
                continue
            tasks.append(Task(identity, field(record, "query", str, where), identity))
            gold[identity] = _gold(record, identity, where)
            passages.update((p.id, p) for p in own)
            pools[identity] = tuple(dict.fromkeys(p.id for p in own))
        pools["all"] = tuple(sorted(passages))
        digest = corpus_digest(tasks, gold, passages, pools)
        return LoadedCorpus(
            self.name, self.version, tuple(tasks), gold, passages, pools, digest, dict(skipped)
        )


def _passages(record: Mapping[str, Any], where: str, skipped: Counter[str]) -> list[Passage]:
    found = []
    for number, entry in enumerate(field(record, "search_results", list, where), start=1):
        place = f"{where} search result {number}"
        text = html.unescape(_TAG.sub("", field(entry, "page_snippet", str, place))).strip()
        if not text:
            skipped["no_snippet"] += 1
            continue
        draft = Passage("", field(entry, "page_name", str, place).strip(), split_sentences(text))
        found.append(Passage(f"p-{draft.content_hash}", draft.title, draft.sentences))
    return found


def _gold(record: Mapping[str, Any], identity: str, where: str) -> Gold:
    raw = record.get("alternative_answers", "[]")
    others = orjson.loads(raw) if isinstance(raw, str) else raw
    answers = tuple(dict.fromkeys((field(record, "answer", str, where), *map(str, others))))
    return Gold(identity, answers, (), (), field(record, "question_type", str, where))

"""A user's own questions, one JSON object a line.

Fields: ``question`` (text), ``passages`` (list of {title, text or sentences, id optional}), ``answers``
    (list of text) or ``answer``, and optionally ``id``, ``type`` and ``hops`` (list of {query, passage,
    answer, entity}), where ``passage`` is the passage's id or its 0-based place in the list. Without
    hops the reader has no plan to follow; a language model needs none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from faultline.corpora.answer_kinds import kind_of
from faultline.corpora.digest import corpus_digest
from faultline.corpora.files import field, read_records
from faultline.corpora.spans import find_span
from faultline.errors import DataError
from faultline.records import Gold, Hop, LoadedCorpus, Passage, Task


class JsonLines:
    """Questions with their passages from one file.

    Args:
        path: The file (JSON Lines or a JSON array, gzip and bzip2 too).
        name: What to call the data set in tables.
    """

    version = 1

    def __init__(self, path: str, name: str = "jsonl") -> None:
        self.name = name
        self.path = path

    def load(self) -> LoadedCorpus:
        """Read every record.

        Raises:
            DataError: A record is broken; file, line and field are named.
        """
        if not self.path or self.path == "???":
            raise DataError("corpora=jsonl: no file; name it with corpora.path=FILE.jsonl")
        tasks: dict[str, Task] = {}
        gold: dict[str, Gold] = {}
        passages: dict[str, Passage] = {}
        pools: dict[str, tuple[str, ...]] = {}
        for number, (where, record) in enumerate(read_records(Path(self.path)), start=1):
            identity = str(record.get("id", f"line-{number:06d}"))
            if identity in tasks:
                raise DataError(f"{where}: field 'id' {identity!r} occurs twice; give each record its own")
            own = _passages(record, where)
            for passage in own:
                if passages.setdefault(passage.id, passage) != passage:
                    raise DataError(f"{where}: passage id {passage.id!r} already names another text")
            tasks[identity] = Task(identity, field(record, "question", str, where), identity)
            gold[identity] = _gold(identity, record, own, where)
            pools[identity] = tuple(dict.fromkeys(passage.id for passage in own))
        pools["all"] = tuple(sorted(passages))
        ordered = tuple(tasks.values())
        digest = corpus_digest(ordered, gold, passages, pools)
        return LoadedCorpus(self.name, self.version, ordered, gold, passages, pools, digest)


def _passages(record: Mapping[str, Any], where: str) -> list[Passage]:
    own = []
    for index, entry in enumerate(field(record, "passages", list, where)):
        place = f"{where} passage {index}"
        if not isinstance(entry, Mapping):
            raise DataError(f"{place}: expected an object with title and text")
        sentences = entry.get("sentences") if "sentences" in entry else [field(entry, "text", str, place)]
        if not isinstance(sentences, list) or not all(isinstance(s, str) for s in sentences):
            raise DataError(f"{place}: field 'sentences' must be a list of text")
        draft = Passage("", str(entry.get("title", "")), tuple(sentences))
        identity = str(entry.get("id", f"p-{draft.content_hash}"))
        own.append(Passage(identity, draft.title, draft.sentences))
    if not own:
        raise DataError(f"{where}: field 'passages' is empty; a question needs passages")
    return own


def _gold(identity: str, record: Mapping[str, Any], own: Sequence[Passage], where: str) -> Gold:
    answers = record.get("answers", [record["answer"]] if "answer" in record else None)
    if not isinstance(answers, list) or not answers or not all(isinstance(a, str) for a in answers):
        raise DataError(f"{where}: field 'answers' is missing or not a list of text")
    listed = field(record, "hops", list, where) if "hops" in record else []
    hops = tuple(_hop(hop, own, f"{where} hop {n}") for n, hop in enumerate(listed, start=1))
    readable = bool(hops) and hops[-1].span is not None
    support = tuple(hop.passage_id for hop in hops if hop.passage_id is not None)
    kind = str(record.get("type", "own"))
    return Gold(identity, tuple(answers), hops, support, kind, len(hops) if readable else None)


def _hop(raw: Any, own: Sequence[Passage], where: str) -> Hop:
    if not isinstance(raw, Mapping):
        raise DataError(f"{where}: expected an object with query, passage and answer")
    reference = field(raw, "passage", (str, int), where)
    by_id = {passage.id: passage for passage in own}
    if isinstance(reference, int):
        passage = own[reference] if 0 <= reference < len(own) else None
    else:
        passage = by_id.get(reference)
    if passage is None:
        raise DataError(f"{where}: field 'passage' {reference!r} is none of the record's passages")
    query = field(raw, "query", str, where)
    answer = field(raw, "answer", str, where)
    depends = tuple(k for k in range(1, 10) if f"#{k}" in query)
    entity = str(raw.get("entity", f"#{depends[-1]}" if depends else ""))
    return Hop(query, entity, passage.id, answer, find_span(passage, answer), kind_of(answer), depends)

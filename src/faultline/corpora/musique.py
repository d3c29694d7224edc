"""MuSiQue (Trivedi et al. 2022): the original JSON Lines or JSON array, answerable and full.

The decomposition is the plan: ``#k`` in a sub-question stands for what was read at hop k. Supporting
paragraphs are named by ``idx`` (titles repeat within a question). Half of the sub-questions have the form
``subject >> relation``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from faultline.corpora.answer_kinds import kind_of
from faultline.corpora.digest import corpus_digest
from faultline.corpora.files import field, read_dataset
from faultline.corpora.sentences import split_sentences
from faultline.corpora.spans import find_span, mentions
from faultline.errors import DataError
from faultline.records import Gold, Hop, LoadedCorpus, Passage, Task

POOLED = "all"
SETTINGS = ("answerable", "full")
_REFERENCE = re.compile(r"#(\d)")
_RELATION = re.compile(r"^(?P<subject>.+?)\s*>>\s*(?P<relation>.+)$")


class MuSiQue:
    """MuSiQue questions with their own paragraphs.

    Args:
        files: Files relative to the data folder's ``musique/``, or absolute paths.
        setting: ``answerable`` (records that lack a supporting paragraph are skipped and counted) or
            ``full`` (they are kept, with ``-unanswerable`` after their id and type, and no answer hop).
        split: ``test`` for dev files, ``train`` for train files; checked against the committed split list.
        hops: Least number of hops; shorter questions stay in the pool only.
        most_hops: Largest number of hops, None for no bound; longer questions stay in the pool only.
        folder: Data folder; default ``FAULTLINE_DATA_DIR``.
    """

    name = "musique"
    version = 1

    def __init__(
        self,
        files: Sequence[str],
        setting: str = "answerable",
        split: str = "test",
        hops: int = 2,
        most_hops: int | None = None,
        folder: str | None = None,
    ) -> None:
        if setting not in SETTINGS:
            raise DataError(f"corpora.setting={setting}: choose one of {', '.join(SETTINGS)}")
        self.files = tuple(files)
        self.setting = setting
        self.split = split
        self.hops = hops
        self.most_hops = most_hops
        self._folder = folder

    def load(self) -> LoadedCorpus:
        """Read the files, one task an id.

        Raises:
            DataError: A file is missing or broken, or an annotation points to a paragraph that is not there;
                file, record and field are named.
        """
        tasks: dict[str, Task] = {}
        gold: dict[str, Gold] = {}
        passages: dict[str, Passage] = {}
        pools: dict[str, tuple[str, ...]] = {}
        skipped: Counter[str] = Counter()
        for where, record in read_dataset(self.files, self._folder, "musique", "musique"):
            identity = field(record, "id", str, where)
            own = paragraphs(record, where)
            annotated = annotate(record, identity, own, where)
            if annotated.question_type.endswith("-unanswerable"):
                if self.setting == "answerable":
                    skipped["unanswerable"] += 1
                    continue
                identity = annotated.task_id
            if identity in tasks:
                skipped["repeated_question"] += 1
                continue
            passages.update((p.id, p) for p in own.values())
            if len(annotated.hops) < self.hops:
                skipped["too_few_hops"] += 1
                continue
            if self.most_hops is not None and len(annotated.hops) > self.most_hops:
                skipped["too_many_hops"] += 1
                continue
            tasks[identity] = Task(identity, field(record, "question", str, where), identity)
            gold[identity] = annotated
            pools[identity] = tuple(dict.fromkeys(p.id for p in own.values()))
        pools[POOLED] = tuple(sorted(passages))
        ordered = tuple(sorted(tasks.values(), key=lambda task: task.id))
        digest = corpus_digest(ordered, gold, passages, pools)
        return LoadedCorpus(self.name, self.version, ordered, gold, passages, pools, digest, dict(skipped))


def paragraphs(record: Mapping[str, Any], where: str) -> dict[int, Passage]:
    """The record's paragraphs by ``idx``; an id is a content hash, so equal paragraphs are one passage.

    Raises:
        DataError: The record has none, or an ``idx`` occurs twice.
    """
    found: dict[int, Passage] = {}
    if "paragraphs" not in record:
        raise DataError(f"{where}: field 'paragraphs' is missing; use a file that has the paragraphs")
    for number, entry in enumerate(field(record, "paragraphs", list, where), start=1):
        place = f"{where} paragraph {number}"
        if not isinstance(entry, Mapping):
            raise DataError(f"{place}: expected an object with idx, title and paragraph_text")
        index = field(entry, "idx", int, place)
        if index in found:
            raise DataError(f"{place}: field 'idx' {index} occurs twice; repair the record")
        sentences = split_sentences(field(entry, "paragraph_text", str, place))
        draft = Passage("", field(entry, "title", str, place), sentences)
        found[index] = Passage(f"p-{draft.content_hash}", draft.title, draft.sentences)
    if not found:
        raise DataError(f"{where}: field 'paragraphs' is empty; use a file that has the paragraphs")
    return found


def annotate(record: Mapping[str, Any], identity: str, own: Mapping[int, Passage], where: str) -> Gold:
    """The decomposition as hops.

    Raises:
        DataError: A step points to a paragraph that is not there.
    """
    steps = field(record, "question_decomposition", list, where)
    answers = [field(step, "answer", str, f"{where} hop {n}") for n, step in enumerate(steps, start=1)]
    hops = tuple(_hop(step, answers, own, f"{where} hop {n}") for n, step in enumerate(steps, start=1))
    unanswerable = record.get("answerable") is False or any(hop.passage_id is None for hop in hops)
    kind = identity.split("__", maxsplit=1)[0] + ("-unanswerable" if unanswerable else "")
    aliases = field(record, "answer_aliases", list, where)
    readable = not unanswerable and bool(hops) and hops[-1].span is not None
    return Gold(
        task_id=f"{identity}-unanswerable" if unanswerable else identity,
        answers=tuple(dict.fromkeys((field(record, "answer", str, where), *map(str, aliases)))),
        hops=hops,
        support=tuple(dict.fromkeys(hop.passage_id for hop in hops if hop.passage_id is not None)),
        question_type=kind,
        answer_hop=len(hops) if readable else None,
    )


def _hop(step: Mapping[str, Any], answers: Sequence[str], own: Mapping[int, Passage], where: str) -> Hop:
    index = field(step, "paragraph_support_idx", (int, type(None)), where)
    if index is not None and index not in own:
        raise DataError(f"{where}: field 'paragraph_support_idx' {index} is none of the record's paragraphs")
    passage = None if index is None else own[index]
    query = field(step, "question", str, where).strip()
    answer = field(step, "answer", str, where)
    depends = tuple(sorted({int(k) for k in _REFERENCE.findall(query)}))
    if any(k > len(answers) for k in depends):
        raise DataError(f"{where}: field 'question' refers to a hop that is not there: {query!r}")
    span = None if passage is None else find_span(passage, answer)
    return Hop(
        query=query,
        entity=_entity(query, depends, answers, passage),
        passage_id=None if passage is None else passage.id,
        answer=answer,
        span=span,
        kind=kind_of(answer),
        depends_on=depends,
    )


def _entity(query: str, depends: Sequence[int], answers: Sequence[str], passage: Passage | None) -> str:
    """What the paragraph must be about: the last reference, or the subject of a relation, that it names.

    Empty where the paragraph names none of them (another spelling): then it cannot be checked.
    """
    text = "" if passage is None else passage.rendered
    for k in reversed(depends):
        if mentions(text, answers[k - 1]):
            return f"#{k}"
    relation = _RELATION.match(query)
    if not depends and relation is not None and mentions(text, relation["subject"]):
        return relation["subject"]
    return ""

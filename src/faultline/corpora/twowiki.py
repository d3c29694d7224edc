"""2WikiMultiHopQA (Ho et al. 2020): the original JSON; the evidence triples are the plan.

A triple (subject, relation, object) is a hop ``subject >> relation`` with the object as its answer. Where the
subject is the object of an earlier triple, ``#k`` stands for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from faultline.corpora.answer_kinds import kind_of
from faultline.corpora.digest import corpus_digest
from faultline.corpora.files import field, read_dataset
from faultline.corpora.sentences import spaced
from faultline.corpora.spans import bare_title, find_span, mentions, normalise
from faultline.errors import DataError
from faultline.records import Gold, Hop, LoadedCorpus, Passage, Task

POOLED = "all"
Triple = tuple[str, str, str]


class TwoWiki:
    """2WikiMultiHopQA questions with their own paragraphs.

    Args:
        files: Files relative to the data folder's ``2wikimultihopqa/``, or absolute paths.
        split: ``test`` for dev files, ``train`` for train files; checked against the committed split list.
        folder: Data folder; default ``FAULTLINE_DATA_DIR``.
    """

    name = "2wikimultihopqa"
    version = 1

    def __init__(self, files: Sequence[str], split: str = "test", folder: str | None = None) -> None:
        self.files = tuple(files)
        self.split = split
        self._folder = folder

    def load(self) -> LoadedCorpus:
        """Read the files, one task an id; records without evidences or context are skipped and counted.

        Raises:
            DataError: A file is missing or broken; file, record and field are named.
        """
        tasks: dict[str, Task] = {}
        gold: dict[str, Gold] = {}
        passages: dict[str, Passage] = {}
        pools: dict[str, tuple[str, ...]] = {}
        skipped: Counter[str] = Counter()
        for where, record in read_dataset(self.files, self._folder, "2wikimultihopqa", "twowiki"):
            identity = field(record, "_id", str, where)
            if "context" not in record:
                raise DataError(f"{where}: field 'context' is missing; use a file that has the paragraphs")
            own = _context(field(record, "context", list, where), where)
            triples = _triples(field(record, "evidences", list, where), where)
            reason = "repeated_question" if identity in tasks else None
            reason = reason or (None if own else "no_paragraphs") or (None if triples else "no_evidences")
            if reason is not None:
                skipped[reason] += 1
                continue
            tasks[identity] = Task(identity, field(record, "question", str, where), identity)
            passages.update((p.id, p) for p in own)
            pools[identity] = tuple(dict.fromkeys(p.id for p in own))
            gold[identity] = annotate(record, identity, own, triples, where)
        pools[POOLED] = tuple(sorted(passages))
        ordered = tuple(sorted(tasks.values(), key=lambda task: task.id))
        digest = corpus_digest(ordered, gold, passages, pools)
        return LoadedCorpus(self.name, self.version, ordered, gold, passages, pools, digest, dict(skipped))


def annotate(
    record: Mapping[str, Any], identity: str, own: Sequence[Passage], triples: Sequence[Triple], where: str
) -> Gold:
    """The evidence triples as hops, each with the supporting paragraph that states it (if one does)."""
    titles = [str(fact[0]) for fact in field(record, "supporting_facts", list, where)]
    support = [p for p in own if p.title in titles]
    answer = field(record, "answer", str, where)
    hops = tuple(_hop(number, triples, support) for number in range(len(triples)))
    answering = [
        n for n, hop in enumerate(hops, 1) if hop.span and normalise(hop.answer) == normalise(answer)
    ]
    return Gold(
        task_id=identity,
        answers=(answer,),
        hops=hops,
        support=tuple(dict.fromkeys(p.id for p in support)),
        question_type=field(record, "type", str, where),
        answer_hop=answering[-1] if answering else None,
    )


def _hop(number: int, triples: Sequence[Triple], support: Sequence[Passage]) -> Hop:
    subject, relation, value = triples[number]
    earlier = [k for k in range(number) if normalise(triples[k][2]) == normalise(subject)]
    name = f"#{earlier[-1] + 1}" if earlier else subject
    passage = _stating(subject, value, support)
    checkable = passage is not None and mentions(passage.rendered, subject)
    entity = name if checkable else ("" if earlier or passage is None else bare_title(passage.title))
    return Hop(
        query=f"{name} >> {relation}",
        entity=entity,
        passage_id=None if passage is None else passage.id,
        answer=value,
        span=None if passage is None else find_span(passage, value),
        kind=kind_of(value),
        depends_on=tuple(k + 1 for k in earlier[-1:]),
    )


def _stating(subject: str, value: str, support: Sequence[Passage]) -> Passage | None:
    """The paragraph titled by the subject, else one that names subject and value, else one with the value."""
    titled = [p for p in support if normalise(bare_title(p.title)) == normalise(bare_title(subject))]
    valued = [p for p in support if mentions(p.text, value)]
    named = [p for p in valued if mentions(p.rendered, subject)]
    best = [p for p in titled if p in valued] or titled or named or valued
    return best[0] if best else None


def _context(raw: Sequence[Any], where: str) -> list[Passage]:
    found = []
    for number, entry in enumerate(raw, start=1):
        if not (len(entry) == 2 and isinstance(entry[0], str) and all(isinstance(s, str) for s in entry[1])):
            raise DataError(f"{where}: field 'context' paragraph {number} is not [title, [sentences]]")
        draft = Passage("", entry[0], spaced(tuple(entry[1])))
        found.append(Passage(f"p-{draft.content_hash}", draft.title, draft.sentences))
    return found


def _triples(raw: Sequence[Any], where: str) -> list[Triple]:
    for entry in raw:
        if not (len(entry) == 3 and all(isinstance(part, str) for part in entry)):
            raise DataError(
                f"{where}: field 'evidences' holds {entry!r}, expected [subject, relation, object]"
            )
    return [(entry[0], entry[1], entry[2]) for entry in raw]

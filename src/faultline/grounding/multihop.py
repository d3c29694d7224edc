"""Multi-hop annotations as facts: what a passage says, and which question asks for it.

Reads the original file formats of HotpotQA, 2WikiMultiHopQA and MuSiQue (see each reader).
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultline.errors import DataError
from faultline.grounding.values import answer_kind, contains
from faultline.records import Passage

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fact:
    """One hop: ``passage`` says that ``answer`` answers ``query`` (or ``relation`` of ``subject``).

    ``sentence`` is the index of the first sentence that holds the answer, None if only the title does.
    """

    query: str
    subject: str
    relation: str
    answer: str
    kind: str
    passage: Passage
    sentence: int | None


@dataclass(frozen=True, slots=True)
class Example:
    """A multi-hop question.

    Attributes:
        id: Stable; the group of all its pairs.
        dataset: ``hotpotqa``, ``twowiki`` or ``musique``.
        answer: Of the whole question.
        facts: Its hops in order; empty where the annotation names none (HotpotQA).
        support: The supporting passages, in the order of the hops.
        others: The distractors.
    """

    id: str
    dataset: str
    question: str
    answer: str
    facts: tuple[Fact, ...]
    support: tuple[Passage, ...]
    others: tuple[Passage, ...]


def read(path: Path) -> list[Example]:
    """All usable examples of one file; the folder's name is the data set.

    Raises:
        DataError: The folder is none of the three sets, or a record lacks a field.
    """
    readers: dict[str, Callable[[Record], Example | None]] = {
        "hotpotqa": _hotpot,
        "2wikimultihopqa": _twowiki,
        "musique": _musique,
    }
    if path.parent.name not in readers:
        raise DataError(f"{path}: not in a folder named {', '.join(readers)}; move the file there")
    found = []
    for number, record in enumerate(records(path)):
        try:
            example = readers[path.parent.name](record)
        except KeyError as error:
            raise DataError(
                f"{path}: record {number} has no field {error}; use the original format"
            ) from error
        if example is not None:
            found.append(example)
    return found


def records(path: Path) -> Iterator[Record]:
    """The records of a gzipped JSON array or JSON Lines file.

    Raises:
        DataError: No such file.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file; set FAULTLINE_DATA_DIR to the folder that holds it")
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        text = handle.read()
    if text.lstrip().startswith("["):
        yield from json.loads(text)
    else:
        yield from (json.loads(line) for line in text.splitlines() if line.strip())


def split_sentences(text: str) -> tuple[str, ...]:
    """Sentences with their leading space: joined again they are the text."""
    cuts = [m.start() for m in re.finditer(r"(?<=[.!?])\s+(?=[A-Z0-9\"“'(])", text)]
    ends = [*cuts, len(text)]
    return tuple(text[a:b] for a, b in zip([0, *cuts], ends, strict=True) if b > a)


def make_fact(
    query: str, answer: str, passage: Passage, *, subject: str = "", relation: str = ""
) -> Fact | None:
    """A fact, or None where the passage does not hold the answer as whole words."""
    if not contains(passage.rendered, answer):
        return None
    where = next((i for i, s in enumerate(passage.sentences) if contains(s, answer)), None)
    kind = answer_kind(answer, query, relation)
    return Fact(query, subject, relation, answer, kind, passage, where)


def _passages(example: str, context: list[tuple[str, list[str]]]) -> list[Passage]:
    return [
        Passage(
            f"{example}/{i}",
            title,
            tuple(s if j == 0 or s.startswith(" ") else " " + s for j, s in enumerate(body)),
        )
        for i, (title, body) in enumerate(context)
    ]


def _hotpot(record: Record) -> Example | None:
    """HotpotQA: no sub-questions, so its facts are empty; ``support`` ends with the passage of the answer."""
    context, facts = record["context"], record["supporting_facts"]
    if isinstance(context, dict):
        context = list(zip(context["title"], context["sentences"], strict=True))
        facts = list(zip(facts["title"], facts["sent_id"], strict=True))
    key = str(record.get("_id") or "q:" + record["question"])
    titles = {title for title, _ in facts}
    passages = _passages(key, context)
    support = [p for p in passages if p.title in titles]
    if len(support) < len(titles):
        return None
    support.sort(key=lambda p: contains(p.rendered, record["answer"]))
    others = tuple(p for p in passages if p.title not in titles)
    return Example(key, "hotpotqa", record["question"], record["answer"], (), tuple(support), others)


def _twowiki(record: Record) -> Example | None:
    """2WikiMultiHopQA: ``evidences`` are (subject, relation, object); the passage is on the subject."""
    if not record.get("context"):
        return None
    passages = _passages(record["_id"], record["context"])
    titles = {title for title, _ in record["supporting_facts"]}
    support = [p for p in passages if p.title in titles]
    facts = []
    for subject, relation, value in record["evidences"]:
        query = f"What is the {relation} of {subject}?"
        on_subject = sorted(support, key=lambda p: not p.title.lower().startswith(subject.lower()))
        made = (make_fact(query, value, p, subject=subject, relation=relation) for p in on_subject)
        facts.extend([next((f for f in made if f is not None), None)])
    kept = tuple(f for f in facts if f is not None)
    others = tuple(p for p in passages if p.title not in titles)
    if len(support) < len(titles) or not kept:
        return None
    return Example(
        record["_id"], "twowiki", record["question"], record["answer"], kept, tuple(support), others
    )


def _musique(record: Record) -> Example | None:
    """MuSiQue: ``question_decomposition`` with ``#k`` for the answer of hop k; ``X >> relation`` hops."""
    if not record.get("answerable", True):
        return None
    passages = {
        p["idx"]: Passage(f"{record['id']}/{p['idx']}", p["title"], split_sentences(p["paragraph_text"]))
        for p in record["paragraphs"]
    }
    answers: list[str] = []
    facts: list[Fact] = []
    order: list[int] = []
    for hop in record["question_decomposition"]:
        index, query = hop["paragraph_support_idx"], str(hop["question"])
        if index is None:
            return None
        filled = re.sub(r"#(\d+)", lambda m: answers[int(m.group(1)) - 1], query)
        subject, _, relation = (part.strip() for part in filled.partition(">>"))
        subject = subject if relation else ""
        asked = f"What is the {relation} of {subject}?" if relation else filled
        fact = make_fact(asked, hop["answer"], passages[index], subject=subject, relation=relation)
        facts.extend([fact] if fact else [])
        answers.append(hop["answer"])
        order.append(index)
    support = tuple(passages[i] for i in dict.fromkeys(order))
    others = tuple(p for i, p in passages.items() if i not in order)
    return Example(
        record["id"], "musique", record["question"], record["answer"], tuple(facts), support, others
    )

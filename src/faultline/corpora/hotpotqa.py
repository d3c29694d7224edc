"""HotpotQA (Yang et al. 2018): original JSON, JSON Lines, and the hub's column layout.

The annotation names supporting sentences but no reasoning order. The order used here: for a bridge question
the paragraph that names the other's title comes first; where both or neither do, the one without the answer;
where that leaves the answer out of the last paragraph, the one that holds it comes last (its partner is then
found from the question, and read by its own name). A comparison has two independent hops.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultline.corpora.answer_kinds import kind_of
from faultline.corpora.digest import corpus_digest
from faultline.corpora.files import DATA_DIR, data_dir, field, read_records
from faultline.corpora.spans import bare_title, find_span, normalise, occurrences
from faultline.errors import DataError
from faultline.records import Gold, Hop, LoadedCorpus, Passage, Task

POOLED = "all"
"""Name of the pool of every passage."""


@dataclass(frozen=True, slots=True)
class HubSource:
    """Where the data set is on the hub: repository, configuration, split and pinned revision."""

    repository: str
    configuration: str
    split: str
    revision: str


class HotpotQA:
    """HotpotQA questions with the paragraphs they came with.

    Args:
        files: Files relative to the data folder's ``hotpotqa/``, or absolute paths.
        setting: ``distractor`` (every gold title is in its context; fullwiki files are refused) or
            ``fullwiki``.
        split: ``test`` for dev files, ``train`` for train files; checked against the committed split list.
        hub: Used when there is no data folder.
        folder: Data folder; default ``FAULTLINE_DATA_DIR``.
    """

    name = "hotpotqa"
    version = 1

    def __init__(
        self,
        files: Sequence[str],
        setting: str = "distractor",
        split: str = "test",
        hub: HubSource | Mapping[str, str] | None = None,
        folder: str | None = None,
    ) -> None:
        if setting not in ("distractor", "fullwiki"):
            raise DataError(f"corpora.setting={setting}: choose distractor or fullwiki")
        self.files = tuple(files)
        self.setting = setting
        self.split = split
        self._hub = HubSource(**hub) if isinstance(hub, Mapping) else hub
        self._folder = folder

    def load(self) -> LoadedCorpus:
        """Read the files, one task a distinct question.

        Raises:
            DataError: A file is missing or broken (file, record and field are named), or is a fullwiki
                file in a distractor run.
        """
        tasks: dict[str, Task] = {}
        gold: dict[str, Gold] = {}
        passages: dict[str, Passage] = {}
        pools: dict[str, tuple[str, ...]] = {}
        skipped: Counter[str] = Counter()
        for where, record in self._records():
            example = _Example.parse(record, where, self.setting)
            key = normalise(example.question)
            if key in tasks:
                skipped["repeated_question"] += 1
                continue
            if len(example.context) < 2 or len(example.titles) < 2:
                skipped["too_few_paragraphs"] += 1
                continue
            if example.id in gold:
                raise DataError(
                    f"{where}: field '_id' {example.id!r} names another question; give each record its own"
                )
            own = [_passage(title, sentences) for title, sentences in example.context]
            tasks[key] = Task(id=example.id, question=example.question, corpus_ref=example.id)
            pools[example.id] = tuple(dict.fromkeys(p.id for p in own))
            passages.update((p.id, p) for p in own)
            gold[example.id] = annotate(example, own)
        pools[POOLED] = tuple(sorted(passages))
        ordered = tuple(sorted(tasks.values(), key=lambda task: task.id))
        digest = corpus_digest(ordered, gold, passages, pools)
        return LoadedCorpus(self.name, self.version, ordered, gold, passages, pools, digest, dict(skipped))

    def _records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        absolute = [name for name in self.files if Path(name).is_absolute()]
        root = data_dir(self._folder)
        if root is not None or absolute:
            for name in self.files:
                yield from read_records(Path(name) if name in absolute else _inside(root, name))
        elif self._hub is not None:
            yield from _hub_records(self._hub)
        else:
            raise DataError(
                f"corpora=hotpotqa: no data; set {DATA_DIR} to a folder that holds hotpotqa/, "
                "or name corpora.files by absolute path, or use corpora=synthetic"
            )


@dataclass(frozen=True, slots=True)
class _Example:
    id: str
    question: str
    answer: str
    type: str
    context: tuple[tuple[str, tuple[str, ...]], ...]
    facts: tuple[tuple[str, int], ...]

    @property
    def titles(self) -> tuple[str, ...]:
        """Gold titles that are in the context, in the order of the supporting facts."""
        present = {title for title, _ in self.context}
        return tuple(dict.fromkeys(title for title, _ in self.facts if title in present))

    @classmethod
    def parse(cls, record: Mapping[str, Any], where: str, setting: str) -> _Example:
        question = field(record, "question", str, where)
        identity = record.get("_id") or record.get("id") or _question_id(question)
        example = cls(
            id=str(identity),
            question=question,
            answer=field(record, "answer", str, where),
            type=field(record, "type", str, where),
            context=_context(field(record, "context", (list, dict), where), where),
            facts=_facts(field(record, "supporting_facts", (list, dict), where), where),
        )
        if setting == "distractor":
            present = {title for title, _ in example.context}
            absent = next((title for title, _ in example.facts if title not in present), None)
            if absent is not None:
                raise DataError(
                    f"{where}: gold title {absent!r} is not in the context, so this is a fullwiki file; "
                    "use a distractor file, or corpora.setting=fullwiki"
                )
        return example


def annotate(example: _Example, own: Sequence[Passage]) -> Gold:
    """Turn supporting facts into hops, as the module's docstring says."""
    by_title = {passage.title: passage for passage in reversed(own)}
    support = [by_title[title] for title in example.titles]
    facts = {t: [i for title, i in example.facts if title == t] for t in example.titles}
    if example.type == "comparison":
        hops, answer_hop = _comparison(example, support, facts)
    else:
        hops, answer_hop = _bridge(example, support, facts)
    return Gold(
        task_id=example.id,
        answers=(example.answer,),
        hops=hops,
        support=tuple(passage.id for passage in support),
        question_type=example.type,
        answer_hop=answer_hop,
    )


def _bridge(
    example: _Example, support: Sequence[Passage], facts: Mapping[str, list[int]]
) -> tuple[tuple[Hop, ...], int | None]:
    first, last = _bridge_order(example.answer, support)
    bridge = bare_title(last.title)
    span = find_span(first, bridge, facts[first.title])
    if span is None:
        bridge = bare_title(first.title)
        span = find_span(first, bridge, facts[first.title])
    answer_span = find_span(last, example.answer, facts[last.title])
    hops = (
        Hop(example.question, "", first.id, bridge, span, kind_of(bridge)),
        Hop(
            f"#1 {example.question}",
            "#1",
            last.id,
            example.answer,
            answer_span,
            kind_of(example.answer),
            (1,),
        ),
    )
    return hops, 2 if answer_span is not None else None


def _bridge_order(answer: str, support: Sequence[Passage]) -> tuple[Passage, Passage]:
    a, b = support[0], support[1]
    a_names, b_names = bool(_named(a, b)), bool(_named(b, a))
    a_holds, b_holds = bool(occurrences(a.text, answer)), bool(occurrences(b.text, answer))
    first, last = (a, b) if a_names else (b, a)
    if a_names == b_names:
        first, last = (b, a) if a_holds and not b_holds else (a, b)
    if occurrences(first.text, answer) and not occurrences(last.text, answer):
        first, last = last, first
    return first, last


def _named(inside: Passage, other: Passage) -> list[tuple[int, int]]:
    return occurrences(inside.text, bare_title(other.title))


def _comparison(
    example: _Example, support: Sequence[Passage], facts: Mapping[str, list[int]]
) -> tuple[tuple[Hop, ...], int | None]:
    hops = []
    answer_hop = None
    for number, passage in enumerate(support[:2], start=1):
        name = bare_title(passage.title)
        is_answer = normalise(example.answer) in (normalise(name), normalise(passage.title))
        value = example.answer if find_span(passage, example.answer) and not is_answer else name
        if answer_hop is None and (is_answer or value == example.answer):
            answer_hop = number
        query = example.question if number == 1 else f"{name} {example.question}"
        span = find_span(passage, value, facts[passage.title])
        hops.append(Hop(query, name, passage.id, value, span, kind_of(value)))
    if answer_hop is not None and hops[answer_hop - 1].span is None:
        answer_hop = None
    return tuple(hops), answer_hop


def _context(raw: Any, where: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if isinstance(raw, Mapping):
        titles = field(raw, "title", list, f"{where} field 'context'")
        sentences = field(raw, "sentences", list, f"{where} field 'context'")
        if len(titles) != len(sentences):
            raise DataError(f"{where}: field 'context' has {len(titles)} titles, {len(sentences)} paragraphs")
        raw = list(zip(titles, sentences, strict=True))
    paragraphs = []
    for number, entry in enumerate(raw, start=1):
        title, sentences = _pair(entry)
        if not isinstance(title, str) or not isinstance(sentences, list):
            raise DataError(f"{where}: field 'context' paragraph {number} is not [title, [sentences]]")
        if not all(isinstance(sentence, str) for sentence in sentences):
            raise DataError(f"{where}: field 'context' paragraph {number} is not [title, [sentences]]")
        paragraphs.append((title, tuple(sentences)))
    return tuple(paragraphs)


def _facts(raw: Any, where: str) -> tuple[tuple[str, int], ...]:
    if isinstance(raw, Mapping):
        titles, indices = field(raw, "title", list, where), field(raw, "sent_id", list, where)
        if len(titles) != len(indices):
            raise DataError(
                f"{where}: field 'supporting_facts' has {len(titles)} titles, {len(indices)} sentences"
            )
        raw = list(zip(titles, indices, strict=True))
    for entry in raw:
        title, index = _pair(entry)
        if not isinstance(title, str) or not isinstance(index, int):
            raise DataError(f"{where}: field 'supporting_facts' holds {entry!r}, expected [title, sentence]")
    return tuple((title, index) for title, index in raw)


def _pair(entry: Any) -> tuple[Any, Any]:
    """A list of two, else (None, None)."""
    return (entry[0], entry[1]) if isinstance(entry, list | tuple) and len(entry) == 2 else (None, None)


def _passage(title: str, sentences: tuple[str, ...]) -> Passage:
    draft = Passage("", title, sentences)
    return Passage(f"p-{draft.content_hash}", title, sentences)


def _question_id(question: str) -> str:
    return "q-" + hashlib.sha256(normalise(question).encode()).hexdigest()[:22]


def _inside(root: Path | None, name: str) -> Path:
    if root is None:
        raise DataError(f"corpora.files: {name} is relative; set {DATA_DIR}, or give absolute paths only")
    return root / "hotpotqa" / name


def _hub_records(hub: HubSource) -> Iterator[tuple[str, dict[str, Any]]]:
    from datasets import load_dataset

    try:
        rows = load_dataset(hub.repository, hub.configuration, split=hub.split, revision=hub.revision)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"corpora=hotpotqa: {hub.repository}@{hub.revision[:8]} is not to be had ({reason}); "
            f"set {DATA_DIR} to a folder that holds hotpotqa/, or go online, or use corpora=synthetic"
        ) from error
    for number, row in enumerate(rows, start=1):
        yield f"{hub.repository}:{hub.split} row {number}", dict(row)

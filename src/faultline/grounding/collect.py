"""From the data folder to training, held-out and evaluation pairs, with the leak checks in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from faultline.errors import DataError
from faultline.grounding.chains import chain_pairs, passage_pairs
from faultline.grounding.derive import donors, fact_pairs, hard_neutrals
from faultline.grounding.multihop import Example, read, records
from faultline.grounding.pairs import Pair, capped, distinct, held_out, normalised, shuffled
from faultline.grounding.public import EVALUATION, TRAINING
from faultline.records import Passage

TRAIN_FILES = ("hotpotqa/hotpot_train_*", "2wikimultihopqa/2wiki_train_*", "musique/musique_*_train_*")
DEV_FILES = (
    "hotpotqa/hotpot_dev_distractor_*",
    "2wikimultihopqa/2wiki_dev_[!l]*",
    "musique/musique_*_dev_[!l]*",
)
QUESTION_LISTS = (
    "hotpotqa/hotpot_dev_fullwiki_*",
    "2wikimultihopqa/2wiki_dev_lag*",
    "musique/musique_ans_dev_lag*",
    "traces/fireact/hotpotqa_dev_questions_*",
)


@dataclass(frozen=True, slots=True)
class Collected:
    """What training gets.

    Attributes:
        train: Shuffled.
        held_out: Train-side pairs that are held out by question or premise: choices are made on these.
        report: What was dropped and why, and the size of every source, as counts.
    """

    train: list[Pair]
    held_out: list[Pair]
    report: Mapping[str, int]


def collect(
    data: Path,
    *,
    seed: int,
    sources: Sequence[str],
    caps: Mapping[str, int],
    repeats: Mapping[str, int],
    share: float,
    rounds: int,
    passages: float,
) -> Collected:
    """Training and held-out pairs.

    Args:
        data: The folder of ``FAULTLINE_DATA_DIR``.
        seed: Of the derived pairs and the caps.
        sources: Names in :data:`~faultline.grounding.public.TRAINING`.
        caps: Largest number of pairs by source.
        repeats: How often an epoch holds the pairs of a source (default once): short pairs cost little.
        share: Of the groups that is held out.
        rounds: Forms drawn per fact.
        passages: Share of all train passages that give swapped-passage pairs.

    Raises:
        DataError: An unknown source, or a dev question among the train files.
    """
    unknown = sorted(set(sources) - set(TRAINING))
    if unknown:
        raise DataError(f"sources {unknown} may not be trained on; allowed: {', '.join(TRAINING)}")
    report: Counter[str] = Counter()
    examples, counts = train_examples(data)
    report.update(counts)
    found: list[Pair] = []
    for part in (False, True):
        side = [e for e in examples if held_out(e.id, share) is part]
        found += derived(side, seed=seed, rounds=rounds, passages=passages)
    found += [pair for name in sources for pair in TRAINING[name](data / "nli")]
    report["pairs.read"] = len(found)
    found = distinct(found)
    report["pairs.distinct"] = len(found)
    found, dropped = without_evaluation_text(found, evaluation_pairs(data))
    report["pairs.dropped_evaluation_text"] = dropped
    out = [pair for pair in found if held_out(pair.group, share)]
    train = capped((pair for pair in found if not held_out(pair.group, share)), caps, seed)
    train = shuffled([pair for pair in train for _ in range(repeats.get(pair.source, 1))], seed)
    for name, pairs in (("train", train), ("held_out", out)):
        report.update(Counter(f"{name}.{pair.source}.{pair.label}" for pair in pairs))
    return Collected(train, out, dict(sorted(report.items())))


def derived(examples: Sequence[Example], *, seed: int, rounds: int, passages: float) -> list[Pair]:
    """All pairs that annotations give; wrong values come from the same examples."""
    pool = donors(examples)
    found: list[Pair] = []
    for example in examples:
        found += fact_pairs(example, pool, seed, rounds)
        found += hard_neutrals(example, pool, seed)
        found += chain_pairs(example, pool, seed)
        found += passage_pairs(example, seed, passages)
    return found


def train_examples(data: Path) -> tuple[list[Example], Mapping[str, int]]:
    """Examples of the train files, without any passage that is gold for a dev question.

    Raises:
        DataError: A train question is also a dev question.
    """
    dev = [example for path in matching(data, DEV_FILES) for example in read(path)]
    asked = {normalised(example.question) for example in dev} | dev_questions(data)
    gold = {passage_key(p) for example in dev for p in example.support}
    kept, report, seen = [], Counter[str](), set[str]()
    for path in matching(data, TRAIN_FILES):
        for example in read(path):
            question = normalised(example.question)
            if question in asked:
                raise DataError(
                    f"{path}: question {example.id} is also in a dev file; remove it from training"
                )
            if question in seen:
                continue
            seen.add(question)
            if any(passage_key(p) in gold for p in example.support):
                report["questions.dropped_dev_gold_support"] += 1
                continue
            others = tuple(p for p in example.others if passage_key(p) not in gold)
            report["passages.dropped_dev_gold"] += len(example.others) - len(others)
            report[f"questions.{example.dataset}"] += 1
            kept.append(replace(example, others=others))
    return kept, report


def dev_examples(data: Path) -> dict[str, list[Example]]:
    """Examples of the dev files by data set, each question once."""
    found: dict[str, dict[str, Example]] = {}
    for path in matching(data, DEV_FILES):
        for example in read(path):
            found.setdefault(example.dataset, {}).setdefault(normalised(example.question), example)
    return {name: list(examples.values()) for name, examples in found.items()}


def dev_questions(data: Path) -> set[str]:
    """Normalised questions of the dev lists that come without passages."""
    return {
        normalised(str(row["question"])) for path in matching(data, QUESTION_LISTS) for row in records(path)
    }


def evaluation_pairs(data: Path) -> list[Pair]:
    """All pairs of the public evaluation sets."""
    return [pair for reader in EVALUATION.values() for pair in reader(data / "nli")]


def without_evaluation_text(pairs: Iterable[Pair], evaluation: Iterable[Pair]) -> tuple[list[Pair], int]:
    """Pairs that share no premise and no hypothesis with an evaluation set, and how many were dropped.

    Texts under five words are let through: "A man is sleeping" says nothing about a leak.
    """
    known = {t for pair in evaluation for t in (normalised(pair.premise), normalised(pair.hypothesis))}
    known = {text for text in known if len(text.split()) >= 5}
    pairs = list(pairs)
    kept = [p for p in pairs if normalised(p.premise) not in known and normalised(p.hypothesis) not in known]
    return kept, len(pairs) - len(kept)


def passage_key(passage: Passage) -> str:
    """The first 25 normalised words of the text: equal for copies that were cut or spaced differently."""
    return " ".join(normalised(passage.text).split()[:25])


def matching(data: Path, patterns: Sequence[str]) -> list[Path]:
    """Files that match the patterns, in a fixed order.

    Raises:
        DataError: A pattern matches nothing.
    """
    found: list[Path] = []
    for pattern in patterns:
        paths = sorted(data.glob(pattern))
        if not paths:
            raise DataError(f"{data}: nothing matches {pattern}; set FAULTLINE_DATA_DIR to the data folder")
        found += paths
    return found

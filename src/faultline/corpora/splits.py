"""Which questions may be used for fitting, and which for testing only.

``splits.json`` lists, by data set, digests of the normalised questions of the known train and dev
files. Dev files are test only; thresholds, NLI training and calibration use train files only. A
question that is not listed (a user's own file) takes the split its configuration names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

import orjson

from faultline.corpora.files import read_records
from faultline.corpora.spans import normalise
from faultline.errors import DataError
from faultline.records import Task

FILES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "hotpotqa": {
        "test": (
            "hotpot_dev_distractor_migres200.jsonl.gz",
            "hotpot_dev_distractor_masarena200.jsonl.gz",
            "hotpot_dev_distractor_hf_first100.json.gz",
            "hotpot_dev_fullwiki_amor500.json.gz",
        ),
        "train": (
            "hotpot_train_distractor_flowcompile200.jsonl.gz",
            "hotpot_train_distractor_hipporag100.json.gz",
        ),
    },
    "musique": {
        "test": (
            "musique_ans_dev_migres200.jsonl.gz",
            "musique_full_dev_swarmbot100.json.gz",
            "musique_ans_dev_lag2417_noparagraphs.json.gz",
        ),
        "train": ("musique_ans_train_hipporag100.json.gz", "musique_full_train_cas20.json.gz"),
    },
    "2wikimultihopqa": {
        "test": (
            "2wiki_dev_tts500.json.gz",
            "2wiki_dev_migres164.jsonl.gz",
            "2wiki_dev_lag4000_nocontext.json.gz",
        ),
        "train": ("2wiki_train_migres500.json.gz",),
    },
}
"""The files whose questions are listed, by data set and split."""


def question_digest(question: str) -> str:
    """Names a question without holding it: 12 hex digits over its normalised text."""
    return hashlib.sha256(normalise(question).encode()).hexdigest()[:12]


def build(data_dir: Path) -> dict[str, dict[str, list[str]]]:
    """Make the split list from the data files (the committed ``splits.json`` is this, stored).

    Raises:
        DataError: A question is in a train file and in a dev file.
    """
    listed: dict[str, dict[str, list[str]]] = {}
    for dataset, by_split in FILES.items():
        listed[dataset] = {
            split: sorted(
                {
                    question_digest(record["question"])
                    for name in names
                    for _, record in read_records(data_dir / dataset / name)
                }
            )
            for split, names in by_split.items()
        }
        both = set(listed[dataset]["train"]) & set(listed[dataset]["test"])
        if both:
            raise DataError(
                f"{dataset}: {len(both)} questions are in train and dev files ({sorted(both)[0]})"
            )
    return listed


def check(dataset: str, split: str, tasks: Iterable[Task]) -> int:
    """Assert that no task belongs to the other split; returns how many of them the list knows.

    Raises:
        DataError: A task is listed under the other split.
    """
    lists = _committed().get(dataset)
    if lists is None:
        return 0
    other = {"test": "train", "train": "test"}[split]
    known = 0
    for task in tasks:
        digest = question_digest(task.question)
        if digest in lists[other]:
            raise DataError(
                f"{dataset}: question {task.id} is a {other} question, used in a {split} run; "
                "fit on train files and test on dev files only"
            )
        known += digest in lists[split]
    return known


@cache
def _committed() -> dict[str, dict[str, frozenset[str]]]:
    raw = orjson.loads(resources.files("faultline.corpora").joinpath("splits.json").read_bytes())
    return {name: {s: frozenset(ids) for s, ids in by_split.items()} for name, by_split in raw.items()}

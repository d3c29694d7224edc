"""The content digest of a loaded data set."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import orjson

from faultline.records import Gold, Passage, Task


def corpus_digest(
    tasks: Sequence[Task],
    gold: Mapping[str, Gold],
    passages: Mapping[str, Passage],
    pools: Mapping[str, Sequence[str]],
) -> str:
    """SHA-256 of the canonical JSON of a data set, 64 hexadecimal digits.

    The order of tasks and of the passages in a pool counts; the order of the mappings does not.
    """
    content = {
        "tasks": [asdict(task) for task in tasks],
        "gold": {key: asdict(record) for key, record in gold.items()},
        "passages": {key: asdict(passage) for key, passage in passages.items()},
        "pools": {key: list(ids) for key, ids in pools.items()},
    }
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()

"""Prompts for the review chain: TruthfulQA's questions, or a user's own list."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from faultline.agents.review_chain import Prompt
from faultline.errors import DataError
from faultline.ths.release import SUBSETS

TRUTHFULQA = Path("truthfulqa") / "TruthfulQA_817.csv.gz"


@dataclass(frozen=True, slots=True)
class PromptSet:
    """Distinct prompts in the order of the file.

    Attributes:
        duplicates: How many rows repeated an earlier text and were left out.
        digest: Of the file.
    """

    name: str
    prompts: tuple[Prompt, ...]
    duplicates: int
    digest: str


def truthfulqa(data: Path) -> PromptSet:
    """The 817 questions, all of them ``realistic``.

    Raises:
        DataError: The file is missing or has no column Question.
    """
    path = data / TRUTHFULQA
    try:
        raw = path.read_bytes()
        table = pd.read_csv(io.BytesIO(gzip.decompress(raw)), encoding="utf-8-sig", dtype=str)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(
            f"{path}: cannot be read ({error}); python -m experiments.fetch truthfulqa"
        ) from error
    if "Question" not in table:
        raise DataError(f"{path}: has no column Question; python -m experiments.fetch truthfulqa")
    rows = [(f"tqa-{i:03d}", str(text), "realistic") for i, text in enumerate(table["Question"], 1)]
    return _distinct("truthfulqa", rows, raw)


def listed(path: Path) -> PromptSet:
    """A user's CSV with columns ``promptid``, ``prompt`` and ``subset`` (realistic or stress).

    Raises:
        DataError: The file, a column, an id or a subset is not as it must be.
    """
    try:
        raw = path.read_bytes()
        table = pd.read_csv(io.BytesIO(raw), dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as CSV ({error})") from error
    for column in ("promptid", "prompt", "subset"):
        if column not in table:
            raise DataError(f"{path}: has no column {column}; it needs promptid, prompt and subset")
    wrong = table.index[~table["subset"].isin(SUBSETS)]
    if len(wrong):
        said = table["subset"].iloc[int(wrong[0])]
        raise DataError(f"{path}: row {int(wrong[0]) + 2}, subset={said!r}: choose one of {SUBSETS}")
    twice = table.index[table["promptid"].duplicated()]
    if len(twice):
        raise DataError(f"{path}: row {int(twice[0]) + 2}, promptid occurs twice; ids must differ")
    rows = list(zip(table["promptid"], table["prompt"], table["subset"], strict=True))
    return _distinct(path.stem, rows, raw)


def _distinct(name: str, rows: Sequence[tuple[str, str, str]], raw: bytes) -> PromptSet:
    seen: set[str] = set()
    kept = []
    for key, text, subset in rows:
        if text not in seen:
            seen.add(text)
            kept.append(Prompt(key, text, subset))
    return PromptSet(name, tuple(kept), len(rows) - len(kept), hashlib.sha256(raw).hexdigest())

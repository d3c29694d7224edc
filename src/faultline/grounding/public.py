"""Readers of the public NLI files, each giving :class:`~faultline.grounding.pairs.Pair`."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from faultline.errors import DataError
from faultline.grounding.multihop import records
from faultline.grounding.pairs import LABELS, Pair, normalised

_LETTERS = {"e": "entailment", "n": "neutral", "c": "contradiction"}


def mnli(folder: Path) -> Iterator[Pair]:
    """MultiNLI dev, matched and mismatched."""
    return _plain(folder / "mnli_dev.csv.gz", "mnli")


def snli(folder: Path) -> Iterator[Pair]:
    """SNLI dev, and SNLI test as e-SNLI carries it in three parallel files."""
    yield from _plain(folder / "snli_dev.csv.gz", "snli")
    parts = [_text(folder / f"esnli_test.{part}.gz").splitlines() for part in ("s1", "s2", "labels")]
    for premise, hypothesis, label in zip(*parts, strict=True):
        yield from _pair(premise, hypothesis, label.strip(), "snli")


def taxinli(folder: Path) -> Iterator[Pair]:
    """TaxiNLI rows whose second annotation agrees with MultiNLI's label."""
    for row in _table(folder / "taxinli10k.tsv.gz", "\t"):
        if row["label"] == row["annotated_label"]:
            yield from _pair(row["prem"], row["hyp"], row["label"], "taxinli")


def conjnli(folder: Path) -> Iterator[Pair]:
    """ConjNLI's generated training file: conjunctions over Wikipedia sentences."""
    for row in _table(folder / "conjnli_adversarial_train_15k.tsv.gz", "\t"):
        yield from _pair(row["Premise"], row["Hypothesis"], row["Label"], "conjnli")


def med(folder: Path) -> Iterator[Pair]:
    """MED, monotonicity reasoning."""
    for row in _table(folder / "MED.tsv.gz", "\t"):
        yield from _pair(row["sentence1"], row["sentence2"], row["gold_label"], "med")


def fever_symmetric(folder: Path) -> Iterator[Pair]:
    """FEVER-symmetric dev and test: no neutral pairs."""
    names = {"SUPPORTS": "entailment", "REFUTES": "contradiction"}
    for part in ("dev", "test"):
        for row in records(folder / f"fever_symmetric_{part}.jsonl.gz"):
            label = names[str(row["gold_label"])]
            yield from _pair(
                _untokenised(row["evidence"]), _untokenised(row["claim"]), label, "fever_symmetric"
            )


def wice(folder: Path) -> Iterator[Pair]:
    """WiCE claims, dev and test: supported is entailment, partially and not supported are neutral."""
    for part in ("dev", "test"):
        for row in records(folder / f"wice_oracle_claim_{part}.jsonl.gz"):
            label = "entailment" if row["label"] == "supported" else "neutral"
            yield from _pair(" ".join(row["evidence"]), str(row["claim"]), label, "wice", str(row["label"]))


def scitail(folder: Path) -> Iterator[Pair]:
    """SciTail dev: entailment or not, the latter read as neutral."""
    for row in _table(folder / "scitail_dev.csv.gz", ","):
        label = "entailment" if row["label"] == "entailment" else "neutral"
        yield from _pair(row["premise"], row["hypothesis"], label, "scitail")


def anli(folder: Path) -> Iterator[Pair]:
    """ANLI dev, rounds 1 to 3."""
    for part in ("r1", "r2", "r3"):
        for row in _table(folder / f"anli_{part}_dev_annotated.csv.gz", ","):
            yield from _pair(row["context"], row["statement"], _LETTERS[row["gold_label"]], f"anli_{part}")


def negation(folder: Path) -> Iterator[Pair]:
    """The negation benchmarks over MNLI, SNLI and RTE (RTE: entailment or not)."""
    for part in ("MNLI", "SNLI", "RTE"):
        for row in _table(folder / f"negation_nli_{part}.txt.gz", "\t"):
            label = row["gold_label"].strip().replace("not_entailment", "neutral")
            yield from _pair(row["Text"], row["Hypothesis"], label, f"negation_{part.lower()}")


def sick(folder: Path) -> Iterator[Pair]:
    """SICK test."""
    for row in _table(folder / "SICK_test_annotated.txt.gz", "\t"):
        yield from _pair(row["sentence_A"], row["sentence_B"], row["entailment_judgment"].lower(), "sick")


TRAINING: Mapping[str, Callable[[Path], Iterator[Pair]]] = {
    "mnli": mnli,
    "snli": snli,
    "taxinli": taxinli,
    "conjnli": conjnli,
    "med": med,
}
"""Sets that training may read: their licences allow it."""

EVALUATION: Mapping[str, Callable[[Path], Iterator[Pair]]] = {
    "fever_symmetric": fever_symmetric,
    "wice": wice,
    "scitail": scitail,
    "anli": anli,
    "negation": negation,
    "sick": sick,
}
"""Sets that are never trained on."""


def _plain(path: Path, source: str) -> Iterator[Pair]:
    for row in _table(path, ","):
        yield from _pair(row["premise"], row["hypothesis"], row["label"], source)


def _pair(premise: Any, hypothesis: Any, label: str, source: str, form: str = "plain") -> Iterator[Pair]:
    """At most one pair: rows without a label or with an empty side are no examples."""
    if label in LABELS and str(premise or "").strip() and str(hypothesis or "").strip():
        group = hashlib.sha256(normalised(str(premise)).encode()).hexdigest()[:16]
        yield Pair(str(premise).strip(), str(hypothesis).strip(), label, source, form, group)


def _table(path: Path, delimiter: str) -> Iterator[dict[str, str]]:
    handle = io.StringIO(_text(path))
    if delimiter == ",":
        yield from csv.DictReader(handle)
    else:  # quotation marks in tab-separated text are text
        yield from csv.DictReader(handle, delimiter=delimiter, quoting=csv.QUOTE_NONE)


def _text(path: Path) -> str:
    """Unpacked text without a byte order mark; stray bytes of another encoding become U+FFFD."""
    if not path.is_file():
        raise DataError(f"{path}: no such file; set FAULTLINE_DATA_DIR to the folder that holds nli/")
    return gzip.decompress(path.read_bytes()).decode("utf-8-sig", errors="replace")


def _untokenised(text: Any) -> str:
    """FEVER's tokenised text as ordinary text: its bracket codes and blanks before punctuation undone."""
    plain = str(text).replace("-LRB-", "(").replace("-RRB-", ")").replace("-LSB-", "[").replace("-RSB-", "]")
    for mark in (".", ",", ";", ":", "?", "!", "'s", ")"):
        plain = plain.replace(f" {mark}", mark)
    return plain.replace("( ", "(").replace("`` ", '"').replace(" ''", '"')

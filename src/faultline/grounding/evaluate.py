"""Evaluation of a verifier by set and premise length, as results rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from faultline.grounding import measures
from faultline.grounding.collect import derived, dev_examples, without_evaluation_text
from faultline.grounding.pairs import LABELS, Pair, capped, distinct
from faultline.grounding.public import EVALUATION
from faultline.records import Verifier
from faultline.results import Row
from faultline.stats import Estimate

BUCKETS = (0, 32, 64, 128, 256)
"""Premise words above which a length bucket begins."""

BUCKET_NAMES = tuple(
    f"{low + 1}-{high}" if high else f"over {low}"
    for low, high in zip(BUCKETS, (*BUCKETS[1:], 0), strict=True)
)
"""As the condition of a row names them."""

TWO_CLASS = frozenset({"wice", "scitail", "negation_rte"})
"""Sets that tell entailment from the rest only."""

SWAPPED_FORMS = frozenset(
    {"passage", "passage_swap", "passage_sentence", "sentence_swap", "stage1", "stage4"}
)
"""Forms whose contradictions are the true text with one value replaced."""


@dataclass(frozen=True, slots=True)
class ScoredSet:
    """A set with its probabilities, shape (n, 3): entailment, neutral, contradiction."""

    name: str
    pairs: Sequence[Pair]
    probs: npt.NDArray[np.float64]

    @property
    def true(self) -> npt.NDArray[np.int64]:
        """Column of the true label, shape (n,)."""
        return np.asarray([LABELS.index(pair.label) for pair in self.pairs], dtype=np.int64)


def evaluation_sets(
    data: Path, held_out: Sequence[Pair], *, seed: int, limit: int | None, rounds: int, passages: float
) -> dict[str, list[Pair]]:
    """Everything that the card reports: public sets, derived dev pairs, held-out public pairs.

    Args:
        data: The data folder.
        held_out: Train-side held-out pairs.
        seed: Of derived pairs and of the choice under a limit.
        limit: Pairs of a set at most, chosen by hash, labels in equal parts; None takes all.
        rounds: Forms per fact of a dev question.
        passages: Share of dev passages that give swapped passages.
    """
    found: dict[str, list[Pair]] = {}
    for reader in EVALUATION.values():
        for pair in reader(data / "nli"):
            found.setdefault(pair.source, []).append(pair)
    for name, examples in dev_examples(data).items():
        made = distinct(derived(examples, seed=seed, rounds=rounds, passages=passages))
        found[f"{name}_dev"] = without_evaluation_text(made, [])[0]
    for name in ("mnli", "snli"):
        found[f"{name}_held_out"] = [pair for pair in held_out if pair.source == name]
    if limit is None:
        return found
    return {
        name: capped(pairs, {pair.source: limit for pair in pairs}, seed) for name, pairs in found.items()
    }


def score(sets: Mapping[str, Sequence[Pair]], verifier: Verifier) -> Iterator[ScoredSet]:
    """Score set by set, as the pipeline does: long premises slide, the best window counts."""
    for name, pairs in sets.items():
        yield ScoredSet(name, pairs, verifier.verify([(p.premise, p.hypothesis) for p in pairs]))


def rows(scored: ScoredSet, nli: str, note: str = "") -> list[Row]:
    """Accuracy, AUC and calibration error, over all pairs and by premise length; more where a set allows it.

    Accuracy is three-class, or entailment against the rest where a set tells no more. A bucket with fewer
    than thirty pairs is left to the row over all lengths.
    """
    size = np.asarray([len(pair.premise.split()) for pair in scored.pairs])
    found = _measured(scored, np.ones(size.shape, dtype=bool), "all", nli, note)
    bounds = [*BUCKETS[1:], np.inf]
    for name, low, high in zip(BUCKET_NAMES, BUCKETS, bounds, strict=True):
        inside = (size > low) & (size <= high)
        if inside.sum() >= 30:
            found += _measured(scored, inside, name, nli, note)
    return found


def _measured(
    scored: ScoredSet, inside: npt.NDArray[np.bool_], length: str, nli: str, note: str
) -> list[Row]:
    probs, true = scored.probs[inside], scored.true[inside]
    pairs = [pair for pair, kept in zip(scored.pairs, inside, strict=True) if kept]
    entailed, key = true == 0, (scored.name, length)
    if scored.name in TWO_CLASS:
        right = (probs[:, 0] >= 0.5) == entailed
        sure = np.maximum(probs[:, 0], 1 - probs[:, 0])
    else:
        right = probs.argmax(1) == true
        sure = probs.max(1)
    clusters = [pair.group for pair in pairs]
    values: dict[str, Estimate] = {
        "accuracy": measures.mean_interval(right.astype(float), clusters, *key),
        "auc_entailment": measures.auc_interval(probs[:, 0], entailed, *key),
        "ece": measures.calibration_interval(sure, right, *key),
    }
    if scored.name == "fever_symmetric":
        values["two_way_accuracy"] = measures.accuracy(measures.forced_two_way(probs), true)
    swapped = np.asarray([pair.form in SWAPPED_FORMS for pair in pairs]) & (true != 1)
    if scored.name.endswith("_dev") and swapped.sum() >= 30:
        values["auc_swapped_value"] = measures.auc_interval(
            probs[swapped, 0], entailed[swapped], "swap", *key
        )
    majority = float(np.bincount(entailed if scored.name in TWO_CLASS else true).max() / true.size)
    values["majority"] = Estimate(majority, None, None, int(true.size))
    return [_row(name, value, scored.name, length, nli, note) for name, value in values.items()]


def _row(metric: str, value: Estimate, dataset: str, length: str, nli: str, note: str) -> Row:
    reason = "" if value.value is not None else "missing: undefined (one class only)"
    return Row(
        paper="house",
        experiment="train_nli",
        table="grounding",
        metric=metric,
        system=nli,
        dataset=dataset,
        condition=f"premise_words={length}",
        backbone="",
        nli=nli,
        embedder="",
        needs_gold=False,
        value=value.value,
        low=value.low,
        high=value.high,
        unit="rate",
        n_total=value.n,
        n_scored=value.n if value.value is not None else 0,
        n_missing=0 if value.value is not None else value.n,
        note="; ".join(filter(None, (note, reason))),
    )

"""Speed of NLI scoring beside the library that everybody uses, in one run, with a parity gate."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from experiments import charm_eval, charm_measure
from experiments.charm_population import run_study
from experiments.models import embedding_scorer, trainer_of
from faultline.charm.scoring import consensus_anchors, requests
from faultline.errors import ConfigError
from faultline.inference.speed import encoder_flops, gemm_peak, interleaved, peak_mb
from faultline.reporting.run_context import Outcome, RunContext
from faultline.results import Row

if TYPE_CHECKING:
    from faultline.inference.nli import NliScorer, PairScores

Pair = tuple[str, str]
OPTIONS = charm_eval.OPTIONS | {"pairs", "rounds", "batch_sizes"}
MODEL = "minilm_l6_untrained_head"
inputs = charm_eval.inputs


@dataclass(frozen=True, slots=True)
class Measured:
    """One set of pairs, scored by both.

    Attributes:
        seconds: Best of each contender.
        shares: Other measures of ours, by metric.
        difference: Largest difference of a probability between the two.
    """

    condition: str
    n: int
    tokens: int
    seconds: Mapping[str, float]
    shares: Mapping[str, float]
    difference: float


def plan(cfg: DictConfig) -> list[str]:
    """What a run would do."""
    return [f"time: {cfg.rounds} rounds over at most {cfg.pairs} distinct pairs, in fp32"]


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Take pairs from trajectories, and time both in turns."""
    if int(cfg.pairs) < 1 or not cfg.batch_sizes or min(cfg.batch_sizes) < 1:
        raise ConfigError("bench_inference: pairs and every one of batch_sizes must be at least 1")
    dataset, asked = _pairs(cfg, context)
    with tempfile.TemporaryDirectory() as folder:
        scorer, predictors = _contenders(Path(folder), int(cfg.nli.token_budget), list(cfg.batch_sizes))
        # What slides in windows is cut by the library, which would then do other work.
        fits = {pair for pair in dict.fromkeys(asked) if _windows(scorer, pair) == 1}
        distinct = [pair for pair in dict.fromkeys(asked) if pair in fits][: int(cfg.pairs)]
        if not distinct:
            raise ConfigError("bench: no pair fits one window; raise limit")
        kept = set(distinct)
        repeated = [pair for pair in asked if pair in kept]
        share = 1 - len(distinct) / len(repeated)
        peak = gemm_peak()
        rounds = int(cfg.rounds)
        sets = {"distinct": distinct, "trajectories": repeated}
        found = []
        with context.progress("timed pairs", sum(len(pairs) for pairs in sets.values())) as advance:
            for what, pairs in sets.items():
                condition = f"what={what};precision=fp32;duplicates={share:.3f}"
                found.append(measured(condition, pairs, scorer, predictors, rounds, peak))
                advance(len(pairs))
    note = f"windowed pairs left out: {len(set(asked)) - len(fits)} of {len(set(asked))} distinct"
    return Outcome(rows=[row for one in found for row in _rows(one, context.experiment, dataset, note)])


def measured(
    condition: str,
    pairs: list[Pair],
    scorer: NliScorer,
    predictors: Mapping[str, Callable[[list[Pair]], Any]],
    rounds: int,
    peak: float,
) -> Measured:
    """Time both over the same pairs, and compare what they say.

    Args:
        condition: Of the rows.
        pairs: Each in one window.
        scorer: Ours.
        predictors: The library's, by name; each gives logits, shape (n, 3).
        rounds: Turns.
        peak: FLOP/s of the machine.
    """
    scores: PairScores = scorer.score(pairs)
    first = next(iter(predictors.values()))
    columns = [scorer.label2id[label] for label in ("entailment", "neutral", "contradiction")]
    powers = np.exp(np.asarray(first(pairs), dtype=np.float64)[:, columns])
    difference = float(np.abs(powers / powers.sum(1, keepdims=True) - scores.probs).max())
    runs: dict[str, Callable[[], object]] = {"faultline": lambda: scorer.score(pairs)}
    runs |= {name: partial(predict, pairs) for name, predict in predictors.items()}
    seconds = interleaved({**runs, "host": lambda: scorer.prepare(pairs)}, rounds)
    host = seconds.pop("host")
    lengths = [ids.shape[0] for ids in scorer.prepare(pairs).job.ids]
    work = encoder_flops(lengths, 6, 384, 1536)
    shares = {
        "mfu": work / seconds["faultline"] / peak,
        "mfu_forward": work / max(seconds["faultline"] - host, 1e-9) / peak,
        "padding_share": scores.padding_share,
        "host_share": min(1.0, host / seconds["faultline"]),
    }
    return Measured(condition, len(pairs), int(scores.tokens.sum()), seconds, shares, difference)


def summary(table: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Speeds and gates."""
    return {"Inference": table[["condition", "system", "metric", "value", "unit"]].reset_index(drop=True)}


def _pairs(cfg: DictConfig, context: RunContext) -> tuple[str, list[Pair]]:
    embedder = embedding_scorer(cfg.embedder, context.stores, trainer_of(cfg.trainer))
    study = run_study(cfg, context, lambda: embedder)
    used = charm_measure.used(cfg, study, charm_measure.assignments(cfg, study))
    anchors = consensus_anchors(used, cfg.charm.consensus_k, cfg.charm.consensus, embedder.encode)
    return study.corpus.name, requests(used, anchors).pairs


def _contenders(
    folder: Path, token_budget: int, batch_sizes: list[int]
) -> tuple[NliScorer, dict[str, Callable[[list[Pair]], Any]]]:
    """Ours and the library's over one checkpoint: MiniLM-L6 with a three-class head that nobody trained."""
    import torch
    from sentence_transformers import CrossEncoder
    from transformers import AutoTokenizer, BertForSequenceClassification

    from faultline.inference.adapter import base_folder
    from faultline.inference.checkpoints import load_classifier
    from faultline.inference.models import ResolvedModel
    from faultline.inference.nli import NliScorer

    names = ("entailment", "neutral", "contradiction")
    torch.manual_seed(0)
    model = BertForSequenceClassification.from_pretrained(
        str(base_folder()), id2label=dict(enumerate(names)), label2id={n: i for i, n in enumerate(names)}
    )
    # Wide enough that probabilities differ between pairs: near 1/3 everywhere, parity could not fail.
    torch.nn.init.normal_(model.classifier.weight, std=1.0)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(str(base_folder())).save_pretrained(folder)
    scorer = NliScorer(load_classifier(ResolvedModel(MODEL, folder, "local", "")), token_budget=token_budget)
    library: Any = CrossEncoder(str(folder), device="cpu", max_length=512)

    def predictor(size: int) -> Callable[[list[Pair]], Any]:
        return lambda pairs: library.predict(
            pairs, batch_size=size, show_progress_bar=False, activation_fn=torch.nn.Identity()
        )

    return scorer, {f"cross_encoder:{size}": predictor(int(size)) for size in batch_sizes}


def _windows(scorer: NliScorer, pair: Pair) -> int:
    return int(scorer.prepare([pair]).item.shape[0])


def _rows(one: Measured, experiment: str, dataset: str, note: str) -> list[Row]:
    best = min((s, name) for name, s in one.seconds.items() if name != "faultline")
    values = [("pairs_per_s", name, one.n / s, "pairs/s") for name, s in one.seconds.items()]
    values += [("tokens_per_s", name, one.tokens / s, "tokens/s") for name, s in one.seconds.items()]
    values += [(name, "faultline", value, "rate") for name, value in one.shares.items()]
    values += [
        ("speed_ratio", f"faultline/{best[1]}", best[0] / one.seconds["faultline"], "ratio"),
        ("max_abs_dp", "faultline", one.difference, "score"),
        ("peak_mb", "process", peak_mb(), "MB"),
    ]
    return [
        Row(
            *("house", experiment, "inference", metric, system, dataset, one.condition, "", MODEL, "", False),
            *(value, None, None, unit, one.n, one.n, 0, note),
        )
        for metric, system, value, unit in values
    ]

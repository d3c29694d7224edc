"""CHARM on a data set: run, score, decide, measure (paper 1, Tables VI and VII)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from experiments import charm_measure, charm_summary, chat_models
from experiments.charm_cost import cost_rows, payment
from experiments.charm_outcomes import outcomes
from experiments.charm_population import (
    Assignment,
    Cell,
    Study,
    cells,
    chosen,
    load_corpus,
    run_study,
    store_key,
)
from experiments.charm_rows import Names
from experiments.chat_models import uses_chat
from experiments.composition import instantiate
from experiments.models import embedding_scorer, identity, nli_scorer, trainer_of
from faultline.charm.decide import CharmSettings
from faultline.charm.score_table import to_frame
from faultline.charm.scores import StageScores
from faultline.charm.scoring import assemble, consensus_anchors, requests
from faultline.errors import DataError
from faultline.records import Trajectory, describe
from faultline.reporting.run_context import Outcome, RunContext

if TYPE_CHECKING:
    from faultline.inference.banded import BandedScorer
    from faultline.inference.nli import NliScorer, PairScores

VERSION = 2
"""Of the measurements; bumped when the same scores give other rows."""

OPTIONS = frozenset(
    {"limit", "seed", "repeats", "paired", "corpora", "policy", "retrieval", "agent", "faults"}
    | {"nli", "embedder", "charm", "resamples", "chat", "prices", "cache", "cache_max_mb", "budget", "calls"}
)

COMPARE = tuple(("VI", metric, "charm") for metric in ("cdr_strict", "cdr_liberal", "cdd", "fpr"))
"""What a sweep compares: table, metric, system."""


def inputs(cfg: DictConfig) -> dict[str, Any]:
    """What the run depends on besides its configuration: data, weights, and versions of components."""
    chat = {"policy": describe(instantiate(cfg.policy))} if uses_chat(cfg) else {}
    corpus = load_corpus(cfg)
    return {
        **chat,
        "corpus": corpus.digest,
        "stores": [store_key(cfg, corpus, cell) for cell in cells(cfg)],
        "version": VERSION,
        "nli": identity(cfg.nli)["sha256"],
        "embedder": identity(cfg.embedder)["sha256"],
    }


def plan(cfg: DictConfig) -> list[str]:
    """What a run would do."""
    tasks = chosen(load_corpus(cfg), cfg.limit, cfg.seed)
    made = len(tasks) * len(cells(cfg))
    stages = len(cfg.agent.stages) if "stages" in cfg.agent else 2 * cfg.agent.max_searches
    return [
        f"generate: {made} trajectories ({len(tasks)} questions x {len(cells(cfg))} cells)",
        f"score: at most {made * (3 * stages - 2)} pairs with {cfg.nli.name} and {made * stages} stage texts "
        f"with {cfg.embedder.name}, before equal texts are dropped",
        payment(cfg, made),
    ]


@dataclass(frozen=True, slots=True)
class Scored:
    """A study with the scores of the trajectories that are measured.

    Attributes:
        who: Which tasks are clean and which injected, by clean cell.
        used: The trajectories, in the order of the scores.
        names: What every row shares.
        clock: Seconds at the start and after each step.
    """

    study: Study
    who: dict[Cell, Assignment]
    used: list[Trajectory]
    scores: StageScores
    names: Names
    scorer: NliScorer | BandedScorer
    judged: PairScores
    clock: list[float]


def score_study(cfg: DictConfig, context: RunContext) -> Scored:
    """Run every task in every cell, and score what is measured; the stores make both cheap to repeat.

    Raises:
        DataError: No question is eligible.
    """
    trainer = trainer_of(cfg.trainer)
    embedder = embedding_scorer(cfg.embedder, context.stores, trainer)
    clock = [time.perf_counter()]
    study = run_study(cfg, context, lambda: embedder)
    who = charm_measure.assignments(cfg, study)
    used = charm_measure.used(cfg, study, who)
    if not used:
        raise DataError(f"{study.corpus.name}: no question is eligible; raise limit, or see {context.stores}")
    clock.append(time.perf_counter())
    scorer = nli_scorer(cfg.nli, context.stores, trainer)
    asked = requests(
        used, consensus_anchors(used, cfg.charm.consensus_k, cfg.charm.consensus, embedder.encode)
    )
    with context.tokens("embedding") as advance:
        embeddings = embedder.encode(asked.texts, advance)
    clock.append(time.perf_counter())
    with context.tokens("NLI") as advance:
        judged = scorer.score(asked.pairs, advance)
    clock.append(time.perf_counter())
    names = Names(
        experiment=context.experiment,
        dataset=study.corpus.name,
        backbone=used[0].backbone,
        nli=f"{scorer.name}@{scorer.digest}",
        embedder=f"{embedder.name}@{embedder.digest}",
    )
    scores = assemble(used, asked, judged.probs, embeddings, cfg.charm.confidence)
    return Scored(study, who, used, scores, names, scorer, judged, clock)


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Run the experiment."""
    settings = settings_of(cfg)
    made = score_study(cfg, context)
    study, used, scores, names = made.study, made.used, made.scores, made.names
    rows = charm_measure.measure(cfg, study, made.who, used, scores, settings, names)
    rows += cost_rows(cfg, study, names)
    made.clock.append(time.perf_counter())
    return Outcome(
        rows=rows,
        tables={
            "signals": to_frame(scores, [t.id for t in used]),
            "outcomes": outcomes(used, study.corpus.gold),
        },
        timings=_timings(made.clock, made.judged, scores),
        manifest=_manifest(cfg, context, study, used, made.scorer),
        trajectories=study.trajectories,
    )


def settings_of(cfg: DictConfig) -> CharmSettings:
    """CHARM's settings from ``conf/charm``."""
    parts = ("sfv", "csct", "cpm", "trigger", "routing")
    made = {part: instantiate(cfg.charm[part]) for part in parts}
    return CharmSettings(**made)


def summary(table: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """The tables that are printed."""
    return charm_summary.summary(table)


def _timings(clock: list[float], judged: PairScores, scores: StageScores) -> dict[str, float]:
    """Wall-clock seconds by step; ``lo_ms`` is scoring time a stage, cached scores included in the stages."""
    steps = dict(zip(("generate", "embed", "nli", "decide"), np.diff(clock).tolist(), strict=True))
    stages = int(scores.present.sum())
    scoring = steps["embed"] + steps["nli"]
    return {
        **{f"{name}_s": seconds for name, seconds in steps.items()},
        "pairs": float(len(judged.tokens)),
        "pair_tokens": float(judged.tokens.sum()),
        "windows_share": float((judged.windows > 1).mean()),
        "padding_share": judged.padding_share,
        "stages": float(stages),
        "lo_ms": 1000.0 * scoring / stages,
    }


def _manifest(
    cfg: DictConfig,
    context: RunContext,
    study: Study,
    used: list[Trajectory],
    scorer: NliScorer | BandedScorer,
) -> dict[str, Any]:
    return {
        "data": {
            "name": study.corpus.name,
            "sha256": study.corpus.digest,
            "skipped": dict(study.corpus.skipped),
        },
        "models": {"nli": identity(cfg.nli), "embedder": identity(cfg.embedder)},
        "label2id": dict(scorer.label2id),
        "activation": "softmax",
        "seeds": {"seed": cfg.seed, "repeats": cfg.repeats},
        "cost": chat_models.spent(study.client),
        "stores": [str(path.relative_to(context.stores)) for path in study.stores],
        "trajectories": [t.id for t in used],
    }

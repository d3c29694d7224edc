"""CHARM on a data set: run, score, decide, measure (paper 1, Tables VI and VII)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import hydra.utils
import numpy as np
import pandas as pd
from omegaconf import DictConfig, OmegaConf

from experiments import charm_rows
from experiments.charm_population import Cell, Study, assign, cells, chosen, load_corpus, run_study
from experiments.models import embedding_scorer, identity, nli_scorer, trainer_of
from faultline.charm.decide import CharmSettings
from faultline.charm.score_table import to_frame
from faultline.charm.scores import StageScores
from faultline.charm.scoring import assemble, consensus_anchors, requests
from faultline.errors import Missing
from faultline.records import Trajectory
from faultline.reporting.run_context import Outcome, RunContext

OPTIONS = frozenset(
    {"limit", "seed", "repeats", "paired", "corpora", "policy", "retrieval", "agent", "faults"}
    | {"nli", "embedder", "charm", "resamples"}
)


def inputs(cfg: DictConfig) -> dict[str, Any]:
    """What the run depends on besides its configuration: the data's content and the models' weights."""
    return {
        "corpus": load_corpus(cfg).digest,
        "nli": identity(cfg.nli)["sha256"],
        "embedder": identity(cfg.embedder)["sha256"],
    }


def plan(cfg: DictConfig) -> list[str]:
    """What a run would do."""
    tasks = chosen(load_corpus(cfg), cfg.limit, cfg.seed)
    made = len(tasks) * len(cells(cfg))
    stages = len(cfg.agent.stages)
    return [
        f"generate: {made} trajectories ({len(tasks)} questions x {len(cells(cfg))} cells of repeat, trust, scope)",
        f"score: at most {made * (3 * stages - 2)} pairs with {cfg.nli.name} and {made * stages} stage texts "
        f"with {cfg.embedder.name}, before equal texts are dropped",
        "pay: nothing (no language model is called)",
    ]


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Run the experiment."""
    trainer = trainer_of(cfg.trainer)
    embedder = embedding_scorer(cfg.embedder, context.stores, trainer)
    started = time.perf_counter()
    study = run_study(cfg, context, lambda: embedder)
    generated = time.perf_counter()
    used = _used(cfg, study)
    scorer = nli_scorer(cfg.nli, context.stores, trainer)
    anchors = consensus_anchors(used, cfg.charm.consensus_k, cfg.charm.consensus, embedder.encode)
    asked = requests(used, anchors)
    with context.progress("embedding tokens", 0) as advance:
        embeddings = embedder.encode(asked.texts, _advancing(advance))
    with context.progress("NLI tokens", 0) as advance:
        judged = scorer.score(asked.pairs, _advancing(advance))
    scored = time.perf_counter()
    scores = assemble(used, asked, judged.probs, embeddings, cfg.charm.confidence)
    names = charm_rows.Names(
        experiment=context.experiment,
        dataset=study.corpus.name,
        backbone=used[0].backbone if used else str(cfg.policy.get("name", "")),
        nli=f"{scorer.name}@{scorer.digest}",
        embedder=f"{embedder.name}@{embedder.digest}",
    )
    rows = charm_rows.measure(cfg, study, used, scores, settings_of(cfg), names)
    rows += charm_rows.lengths(used, asked, judged.tokens, names)
    return Outcome(
        rows=rows,
        tables={"signals": to_frame(scores, [_signal_id(t) for t in used])},
        timings=_timings(started, generated, scored, judged, asked, scores),
        manifest={
            "data": {"name": study.corpus.name, "sha256": study.corpus.digest, "skipped": dict(study.corpus.skipped)},
            "models": {"nli": identity(cfg.nli), "embedder": identity(cfg.embedder)},
            "label2id": dict(scorer.label2id),
            "seeds": [cfg.seed + r for r in range(cfg.repeats)],
            "stores": [str(path.relative_to(context.stores)) for path in study.stores],
            "trajectories": [t.id for t in used],
        },
    )


def settings_of(cfg: DictConfig) -> CharmSettings:
    """CHARM's settings from ``conf/charm``."""
    parts = ("sfv", "csct", "cpm", "trigger", "routing")
    return CharmSettings(**{part: hydra.utils.instantiate(cfg.charm[part], _convert_="all") for part in parts})


def summary(table: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """The tables that are printed."""
    return charm_rows.summary(table)

"""CHARM and paper 2's diagnosers on existing traces; nothing is injected, so flags are only rates."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from experiments import trace_diagnoses
from experiments.charm_eval import settings_of
from experiments.charm_rows import Names, Sheet
from experiments.models import embedding_scorer, identity, nli_scorer, trainer_of
from faultline.attribution.rerun_rows import Names as FpNames
from faultline.charm.decide import Verdicts, decide
from faultline.charm.score_table import to_frame
from faultline.charm.scores import StageScores
from faultline.charm.scoring import assemble, consensus_anchors, requests
from faultline.codec import key_of
from faultline.errors import DataError
from faultline.records import Trajectory
from faultline.reporting.run_context import Outcome, RunContext
from faultline.stats import Estimate, bootstrap, generator, wilson
from faultline.store import AppendStore, exclusive
from faultline.traces import annotation
from faultline.traces.reading import read
from faultline.traces.steps import Traces

VERSION = 2
OPTIONS = frozenset({"limit", "nli", "embedder", "charm", "resamples", "seed", "traces"})


def inputs(cfg: DictConfig) -> dict[str, Any]:
    """What the run depends on: the file's content and the weights."""
    path = Path(str(cfg.traces.path))
    if not str(cfg.traces.path) or not path.is_file():
        raise DataError(f"traces.path={cfg.traces.path}: no such file; give a trace file")
    return {
        "traces": hashlib.sha256(path.read_bytes()).hexdigest(),
        **_annotation_input(cfg),
        "version": VERSION,
        "nli": identity(cfg.nli)["sha256"],
        "embedder": identity(cfg.embedder)["sha256"],
    }


def plan(cfg: DictConfig) -> list[str]:
    """What a run would do."""
    found = read(cfg.traces.path, cfg.traces.format)
    used = found.trajectories[: cfg.limit]
    stages = sum(len(t.stages) for t in used)
    return [
        f"read: {len(found.trajectories)} trajectories, {len(found.problems)} problems",
        f"score: at most {3 * stages} pairs with {cfg.nli.name}, {stages} texts with {cfg.embedder.name}",
        "generate, pay: nothing",
    ]


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Run the experiment."""
    found = read(cfg.traces.path, cfg.traces.format)
    used = found.trajectories[: cfg.limit]
    known = annotation.read(cfg.traces.gold) if cfg.traces.gold else {}
    trainer = trainer_of(cfg.trainer)
    embedder = embedding_scorer(cfg.embedder, context.stores, trainer)
    scorer = nli_scorer(cfg.nli, context.stores, trainer)
    asked = requests(
        used, consensus_anchors(used, cfg.charm.consensus_k, cfg.charm.consensus, embedder.encode)
    )
    with context.tokens("embedding") as advance:
        rows = embedder.encode(asked.texts, advance)
    with context.tokens("NLI") as advance:
        judged = scorer.score(asked.pairs, advance)
    scores = assemble(used, asked, judged.probs, rows, cfg.charm.confidence)
    verdicts = decide(scores, settings_of(cfg))
    backbones = sorted({t.backbone for t in used})
    names = Names(
        experiment=context.experiment,
        dataset=Path(str(cfg.traces.path)).name,
        backbone=backbones[0] if len(backbones) == 1 else "mixed",
        nli=f"{scorer.name}@{scorer.digest}",
        embedder=f"{embedder.name}@{embedder.digest}",
    )
    with context.tokens("sufficiency") as advance:
        guesses = trace_diagnoses.diagnosed(
            used, known, lambda pairs: scorer.score(pairs, advance).probs, cfg.seed
        )
    theirs = FpNames(
        names.experiment, names.dataset, names.backbone, names.embedder, cfg.resamples, 0, names.nli
    )
    sheet = Sheet(names)
    _rates(sheet, found, scores, verdicts)
    _stages(sheet, scores, verdicts, cfg)
    return Outcome(
        rows=[*sheet.rows, *trace_diagnoses.rows_of(theirs, guesses)],
        tables={
            "hop_guesses": guesses,
            "signals": to_frame(scores, [t.id for t in used]),
            "verdicts": _verdicts(used, verdicts),
            "problems": pd.DataFrame([(p.id, p.what) for p in found.problems], columns=["id", "problem"]),
        },
        manifest={
            "data": inputs(cfg)["traces"],
            "models": {"nli": identity(cfg.nli), "embedder": identity(cfg.embedder)},
            "label2id": dict(scorer.label2id),
            "backbones": backbones,
            "stores": [_stored(used, context)],
            "skipped_steps": found.skipped,
        },
    )


def summary(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What is printed: flags, routes and problems."""
    shown = table[table["table"].isin(["traces", "routes", "stages"])]
    columns = ["metric", "condition", "value", "low", "high", "n_scored", "n_missing", "note"]
    return {
        "CHARM on traces": shown[columns].round(3).fillna("").reset_index(drop=True),
        "Hops named, and right where annotated": trace_diagnoses.shown(table).round(3).fillna(""),
    }


def _stored(used: list[Trajectory], context: RunContext) -> str:
    """Keep the trajectories where the viewer finds those of every run; the store's name under the stores."""
    name = f"traces/{key_of(used)}.jsonl"
    store = AppendStore(context.stores / name)
    with exclusive(store.path.with_suffix(".lock")):
        known = store.read()
        store.append([(t.id, {"trajectory": t}) for t in used if t.id not in known])
    return name


def _annotation_input(cfg: DictConfig) -> dict[str, str]:
    path = Path(str(cfg.traces.gold))
    if not str(cfg.traces.gold) or not path.is_file():
        return {}
    return {"gold": hashlib.sha256(path.read_bytes()).hexdigest()}


def _rates(sheet: Sheet, found: Traces, scores: StageScores, verdicts: Verdicts) -> None:
    scored = verdicts.scored
    n = int(scored.sum())
    missing = {"not_scored": int((~scored).sum())}
    rates = {
        "flagged": int((verdicts.first[scored] > 0).sum()),
        "human": int(verdicts.human[scored].sum()),
        "cpm_fallback": int(verdicts.cpm_fallback[scored].sum()),
    }
    for metric, count in rates.items():
        sheet.add("traces", metric, "charm", "observed", wilson(count, n), "rate", missing)
    problems = Counter(problem.what.partition(":")[0] for problem in found.problems)
    told = "; ".join(f"{count} x {what}" for what, count in problems.most_common(5))
    total = len(found.problems)
    sheet.add(
        "traces", "problems", "charm", "observed", _count(total, len(found.trajectories)), "count", {}, told
    )
    sheet.add("traces", "skipped_steps", "charm", "observed", _count(found.skipped, n), "count", missing)
    for action, count in sorted(Counter(str(a) for a in verdicts.action if a).items()):
        sheet.add("routes", action, "charm", "observed", _count(count, n), "count", missing)


def _stages(sheet: Sheet, scores: StageScores, verdicts: Verdicts, cfg: DictConfig) -> None:
    for stage in range(min(scores.stages, 10)):
        p = verdicts.p[:, stage]
        known = p[~np.isnan(p)]
        absent = {"no_stage": int((~scores.present[:, stage]).sum())}
        absent["not_scored"] = len(p) - len(known) - absent["no_stage"]
        mean = bootstrap(known, generator(cfg.seed, "p", stage), resamples=cfg.resamples)
        sheet.add("stages", "p", "charm", f"stage={stage + 1}", mean, "score", absent)


def _count(value: int, n: int) -> Estimate:
    return Estimate(float(value), None, None, n)


def _verdicts(used: list[Trajectory], verdicts: Verdicts) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "trajectory_id": [t.id for t in used],
            "question": [t.question for t in used],
            "answer": [t.answer for t in used],
            "stages": [len(t.stages) for t in used],
            "first": verdicts.first,
            "type": verdicts.cascade_type,
            "action": verdicts.action,
            "scored": verdicts.scored,
        }
    )

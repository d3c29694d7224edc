"""CHARM with several backbones on the same questions: how often each answers, and what CHARM sees of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from omegaconf import DictConfig, OmegaConf

from experiments import charm_eval, charm_measure
from experiments.charm_cost import payment
from experiments.charm_population import Cell, Study, cells, chosen, load_corpus, run_study
from experiments.charm_rows import Names, Sheet
from experiments.composition import instantiate
from experiments.models import embedding_scorer, identity, trainer_of
from faultline.agents.trajectories import is_correct
from faultline.errors import Missing, ModelError
from faultline.records import Trajectory, describe
from faultline.reporting.run_context import Outcome, RunContext
from faultline.results import Row
from faultline.stats import Estimate, wilson

OPTIONS = (charm_eval.OPTIONS - {"policy", "chat"}) | {"backbones"}
COMPARE = (("backbones", "em", "none"),)


def inputs(cfg: DictConfig) -> dict[str, Any]:
    """Data, models, and which of the backbones are here."""
    here = {
        name: describe(_settings(made)) if why is None and "chat" in made.policy else str(why)
        for name, made, why in _backbones(cfg)
    }
    return {
        "corpus": load_corpus(cfg).digest,
        "nli": identity(cfg.nli)["sha256"],
        "embedder": identity(cfg.embedder)["sha256"],
        "backbones": here,
    }


def plan(cfg: DictConfig) -> list[str]:
    """What a run would do."""
    tasks = chosen(load_corpus(cfg), cfg.limit, cfg.seed)
    told = []
    for name, made, why in _backbones(cfg):
        size = len(tasks) * len(cells(made))
        told.append(f"{name}: {why}" if why else f"{name}: {size} trajectories; {payment(made, size)}")
    return told


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Run every backbone that is here; CHARM is measured where enough clean answers are correct."""
    rows: list[Row] = []
    tables: dict[str, pd.DataFrame] = {}
    manifest: dict[str, Any] = {}
    trajectories: list[Trajectory] = []
    for name, made, why in _backbones(cfg):
        if why is not None:
            rows += _absent(made, context, why)
            continue
        study = _study(made, context)
        rows += _answers(made, context, study)
        trajectories += study.trajectories
        if charm_measure.used(made, study, charm_measure.assignments(made, study)):
            outcome = charm_eval.run(made, context)
            rows += outcome.rows
            tables |= {f"{stem}_{name}": table for stem, table in outcome.tables.items()}
            manifest[name] = outcome.manifest
        else:
            manifest[name] = {"charm": "not measured: no clean run answered correctly"}
    return Outcome(rows, tables, manifest={"backbones": manifest}, trajectories=trajectories)


def summary(table: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Exact match a backbone and condition, with the answers that are missing; then CHARM's own tables."""
    answers = table[table["table"] == "backbones"]
    lines = [
        {
            "backbone": r["backbone"],
            "condition": r["condition"],
            "EM": _percent(r),
            "n": r["n_scored"],
            "of": r["n_total"],
            "note": r["note"],
        }
        for r in answers.to_dict("records")
    ]
    return {"Exact match by backbone": pd.DataFrame(lines)}


def _percent(row: Mapping[Any, Any]) -> str:
    if pd.isna(row["value"]):
        return "-"
    return f"{100 * row['value']:.1f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"


def _backbones(cfg: DictConfig) -> Iterator[tuple[str, DictConfig, str | None]]:
    """Name, configuration with that policy, and why it cannot run here (None if it can)."""
    for name in cfg.backbones:
        plain: Any = OmegaConf.to_container(cfg, resolve=True)
        backbones = plain.pop("backbones")
        plain["policy"] = backbones[str(name)]
        made = OmegaConf.create(plain)
        why = None
        if "chat" in made.policy:
            try:
                _settings(made)
            except ModelError as error:
                why = str(error)
        yield str(name), made, why


def _study(cfg: DictConfig, context: RunContext) -> Study:
    embedder = embedding_scorer(cfg.embedder, context.stores, trainer_of(cfg.trainer))
    return run_study(cfg, context, lambda: embedder)


def _settings(cfg: DictConfig) -> Any:
    return instantiate(cfg.policy)


def _names(cfg: DictConfig, context: RunContext, dataset: str, backbone: str) -> Names:
    return Names(context.experiment, dataset, backbone, str(cfg.nli.name), str(cfg.embedder.name))


def _absent(cfg: DictConfig, context: RunContext, why: str) -> list[Row]:
    sheet = Sheet(_names(cfg, context, load_corpus(cfg).name, str(cfg.policy.chat.model)))
    tasks = len(chosen(load_corpus(cfg), cfg.limit, cfg.seed))
    nothing = Estimate(None, None, None, 0)
    condition = Cell(0, None, None).condition(str(cfg.faults.name))
    sheet.add("backbones", "em", "none", condition, nothing, "rate", {str(Missing.NOT_RUN): tasks}, why)
    return sheet.rows


def _answers(cfg: DictConfig, context: RunContext, study: Study) -> list[Row]:
    """Exact match over every trajectory; a missing answer is not correct, and is counted by reason."""
    sheet = Sheet(_names(cfg, context, study.corpus.name, study.trajectories[0].backbone))
    for cell, outcomes in study.outcomes.items():
        found = [t for t in outcomes.values() if isinstance(t, Trajectory)]
        right = sum(is_correct(t, study.corpus.gold[t.task_id]) for t in found)
        reasons = Counter(str(t.missing) for t in found if t.answer is None)
        told = ", ".join(f"{reason}={count}" for reason, count in sorted(reasons.items()))
        skipped = Counter(str(o) for o in outcomes.values() if isinstance(o, Missing))
        condition = cell.condition(str(cfg.faults.name))
        if cell.repeat:
            condition = f"{condition};repeat={cell.repeat}"
        note = f"no answer: {told}" if told else ""
        sheet.add("backbones", "em", "none", condition, wilson(right, len(found)), "rate", skipped, note)
    return sheet.rows

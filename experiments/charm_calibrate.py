"""Thresholds from train files: a grid, risk profiles, a conformal theta, and the file that keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from experiments import charm_confidence, charm_eval
from experiments.charm_eval import Scored, score_study, settings_of
from experiments.charm_multiverse import Sets, paired_sets
from experiments.charm_rows import Sheet
from faultline.charm import fit, metrics
from faultline.charm.calibration_file import Calibration, Fitted, save
from faultline.charm.decide import CharmSettings, decide
from faultline.charm.grid import Axes, Grid, search, simplex
from faultline.charm.options import require_choice
from faultline.errors import ConfigError, DataError, Missing
from faultline.reporting.run_context import Outcome, RunContext
from faultline.stats import Estimate

OPTIONS = charm_eval.OPTIONS | {"calibrate"}
FILE = "calibration.json"

inputs = charm_eval.inputs


def plan(cfg: DictConfig) -> list[str]:
    """What a run would do."""
    return [
        *charm_eval.plan(cfg),
        f"fit: {_axes(cfg).size} settings on the train files of {cfg.corpora._target_}",
    ]


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Score train questions, choose, and write the calibration file into the run."""
    if str(cfg.corpora.get("split", "test")) != "train":
        raise ConfigError(
            "charm_calibrate: corpora.split must be train; use corpora=hotpotqa_train or another _train"
        )
    made = score_study(cfg, context)
    sheet = Sheet(made.names)
    sets = next(paired_sets(cfg, made))
    base = _with_temperature(cfg, settings_of(cfg), made, sheet, sets.condition)
    rows = np.concatenate([sets.injected, sets.clean])
    stage = np.concatenate([sets.stage, np.zeros(len(sets.clean), dtype=np.int64)])
    scores = made.scores[rows]
    grid = search(scores, stage, base, _axes(cfg))
    chosen = {"paper": base, "f1": grid.at(grid.best(), base)}
    chosen |= {name: grid.at(fit.profile(grid, cost), base) for name, cost in fit.PROFILES.items()}
    for name, settings in chosen.items():
        _rates(sheet, name, settings, made, sets)
    _conformal(cfg, sheet, chosen["f1"], made, sets)
    kept = Calibration.of(chosen[str(cfg.calibrate.keep)], _origin(cfg, made, sets))
    path = context.run_dir / FILE
    save(kept, path)
    return Outcome(
        rows=sheet.rows,
        tables={"grid": _table(grid)},
        manifest={"calibration": FILE, "seeds": {"seed": cfg.seed}},
        trajectories=made.study.trajectories,
    )


def summary(table: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Rates on the TRAIN files of each choice: what was fitted, not how well it does on anything else."""
    lines = [
        {
            "choice": r["system"].removeprefix("charm:"),
            "metric": r["metric"],
            "value": "-" if pd.isna(r["value"]) else f"{r['value']:.3f}",
            "n": r["n_scored"],
            "note": r["note"],
        }
        for r in table[table["table"] == "calibration"].to_dict("records")
    ]
    return {"Fitted on train files (no test of anything)": pd.DataFrame(lines)}


def _with_temperature(
    cfg: DictConfig, settings: CharmSettings, made: Scored, sheet: Sheet, condition: str
) -> CharmSettings:
    """The settings with the temperature that was asked for; rows of how each method calibrates.

    Raises:
        DataError: ``calibrate.temperature=fitted`` and the train runs state too few confidences.
    """
    require_choice("calibrate.temperature", str(cfg.calibrate.temperature), ("paper", "fitted"))
    kinds = frozenset(("logprobs",) if cfg.charm.confidence == "logprobs" else ("logprobs", "stated"))
    given = charm_confidence.stated(made.study, kinds)
    charm_confidence.measure(sheet, given, condition, str(cfg.trainer.accelerator))
    if cfg.calibrate.temperature == "paper":
        return settings
    value = charm_confidence.temperature(given, str(cfg.trainer.accelerator))
    return replace(settings, cpm=replace(settings.cpm, temperature=value))


def _axes(cfg: DictConfig) -> Axes:
    c = cfg.calibrate
    return Axes(
        theta=tuple(float(t) for t in c.theta),
        drift_threshold=tuple(float(d) for d in c.drift_threshold),
        tau=tuple(float(t) for t in c.tau),
        weights=simplex(float(c.weight_step)),
    )


def _rates(sheet: Sheet, name: str, settings: CharmSettings, made: Scored, sets: Sets) -> None:
    flagged = decide(made.scores, settings).flagged
    note = (
        f"fitted on these; theta={settings.trigger.theta:g}, drift={settings.csct.drift_threshold:g}, "
        f"tau={settings.sfv.tau:g}, weights={'/'.join(f'{w:g}' for w in settings.trigger.weights)}"
    )
    note = note if name != "paper" else note.removeprefix("fitted on these; ")
    injected = flagged[sets.injected]
    for metric, rate in (
        ("cdr_strict", metrics.cdr(injected, sets.stage, "strict", made.scores.stages)),
        ("cdr_windowed", metrics.cdr(injected, sets.stage, "windowed", made.scores.stages)),
        ("fpr", metrics.fpr(flagged[sets.clean])),
    ):
        sheet.add("calibration", metric, f"charm:{name}", sets.condition, rate, "rate", {}, note)


def _conformal(cfg: DictConfig, sheet: Sheet, settings: CharmSettings, made: Scored, sets: Sets) -> None:
    """The theta that keeps the false alarm rate, or why these few clean cases cannot give one."""
    alpha = float(cfg.calibrate.alpha)
    p = decide(made.scores, settings).p[sets.clean]
    peaks = fit.peaks(p, np.zeros(len(sets.clean), dtype=np.int64))
    try:
        theta = fit.conformal_theta(peaks, alpha)
        value, lost, note = Estimate(theta, None, None, len(peaks)), {}, f"alpha={alpha:g}; flag at p > theta"
    except DataError as error:
        value, lost, note = Estimate(None, None, None, 0), {str(Missing.UNDEFINED): len(peaks)}, str(error)
    sheet.add("calibration", "conformal_theta", "charm:conformal", sets.condition, value, "score", lost, note)


def _origin(cfg: DictConfig, made: Scored, sets: Sets) -> Fitted:
    nli, nli_digest = made.names.nli.split("@")
    embedder, embedder_digest = made.names.embedder.split("@")
    return Fitted(
        datasets=(made.study.corpus.name,),
        split=str(cfg.corpora.split),
        data_sha256=(made.study.corpus.digest,),
        conditions=(sets.condition,),
        n_clean=len(sets.clean),
        n_injected=len(sets.injected),
        nli=nli,
        nli_sha256=nli_digest,
        embedder=embedder,
        embedder_sha256=embedder_digest,
        backbone=made.names.backbone,
        criterion=str(cfg.calibrate.keep),
    )


def _table(grid: Grid) -> pd.DataFrame:
    """One row a setting."""
    axes = grid.axes
    index = pd.MultiIndex.from_product(
        [
            axes.tau,
            axes.drift_threshold,
            ["/".join(f"{w:g}" for w in each) for each in axes.weights],
            axes.theta,
        ],
        names=["tau", "drift_threshold", "weights", "theta"],
    )
    columns = {"cdr": grid.detected.ravel(), "fpr": grid.false_alarms.ravel(), "f1": grid.f1.ravel()}
    return pd.DataFrame(columns, index=index).reset_index()

"""What re-execution does about the flags of a CHARM study (paper 1, Table V): CRR and PRR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from experiments import charm_eval
from experiments.charm_population import Cell, cells, environments_of, fault_of, policy_of
from experiments.charm_rows import Sheet
from experiments.composition import instantiate
from experiments.models import embedding_scorer, trainer_of
from faultline.agents.trajectories import is_correct
from faultline.charm import metrics
from faultline.charm.decide import Verdicts, decide
from faultline.charm.mitigations.reexecution import Flagged, Mitigated, crr, last_clean, prr
from faultline.errors import ConfigError, Missing
from faultline.faults.site import Site
from faultline.records import Environment, Trajectory
from faultline.reporting.run_context import Outcome, RunContext
from faultline.stats import Estimate, bootstrap, generator, wilson

OPTIONS = charm_eval.OPTIONS
METHODS = ("CRR", "PRR")
NOT_BUILT = ("SCT", "PVA")


def inputs(cfg: DictConfig) -> dict[str, Any]:
    """As charm_eval."""
    return charm_eval.inputs(cfg)


def plan(cfg: DictConfig) -> list[str]:
    """As charm_eval; each flagged run is executed again once a method."""
    return [*charm_eval.plan(cfg), f"re-execute: every flagged run with {' and '.join(METHODS)}"]


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Score and decide as charm_eval, then act again on every flagged run."""
    if "trust" not in cfg.policy:
        raise ConfigError("charm_mitigation: runs with policy=reader only; its re-executions are not billed")
    made = charm_eval.score_study(cfg, context)
    verdicts = decide(made.scores, charm_eval.settings_of(cfg))
    place = {t.id: row for row, t in enumerate(made.used)}
    redo = _Redo(cfg, context, made.study, verdicts, place)
    sheet = Sheet(made.names)
    for cell in cells(cfg):
        members = made.who[replace(cell, scope=None)]
        names = members.clean if cell.scope is None else members.injected
        runs = [t for t in (made.study.outcomes[cell][n] for n in names) if isinstance(t, Trajectory)]
        for method in METHODS:
            _cell_rows(sheet, cfg, redo, cell, method, runs)
        for method in NOT_BUILT:
            nothing = Estimate(None, None, None, 0)
            condition = cell.condition(str(cfg.faults.name))
            sheet.add("V", "msr", method, condition, nothing, "rate", {str(Missing.NOT_RUN): len(runs)})
    return Outcome(rows=sheet.rows, trajectories=made.study.trajectories)


def summary(table: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Table V: a line a method and condition."""
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for r in table[table["system"].isin(METHODS)].to_dict("records"):
        scale = 100 if r["unit"] == "rate" else 1
        shown = "undefined" if pd.isna(r["value"]) else f"{scale * r['value']:.1f} (n={r['n_scored']})"
        lines.setdefault((r["system"], r["condition"]), {})[r["metric"]] = shown
    rows = [{"method": s, "condition": c, **v} for (s, c), v in lines.items()]
    return {"Re-execution (paper 1, Table V); rates in percent": pd.DataFrame(rows).fillna("-")}


def run_query(study: Any, cell: Cell, run: Trajectory) -> str:
    """What the clean run of the same question asked first: where the fault was put."""
    clean = study.outcomes[replace(cell, scope=None)][run.task_id]
    return "" if isinstance(clean, Missing) else str(clean.stages[0].query)


class _Redo:
    """Acts again on a run of one cell."""

    def __init__(
        self, cfg: DictConfig, context: RunContext, study: Any, verdicts: Verdicts, place: dict[str, int]
    ) -> None:
        self._cfg, self.study, self.verdicts, self.place = cfg, study, verdicts, place
        embedder = embedding_scorer(cfg.embedder, context.stores, trainer_of(cfg.trainer))
        self._embedder = lambda: embedder
        self._environments = environments_of(cfg, study.corpus, self._embedder)
        self._tasks = {task.id: task for task in study.tasks}
        self._agent = instantiate(cfg.agent)

    def flagged_at(self, run: Trajectory) -> int:
        """1-based stage of the first flag, 0 for none."""
        return int(self.verdicts.first[self.place[run.id]])

    def act(self, cell: Cell, run: Trajectory, method: str) -> Mitigated:
        """One re-execution."""
        task = self._tasks[run.task_id]
        policy = policy_of(self._cfg, cell).build(self.study.corpus)
        clean = self._environments.clean(task)
        working: Environment = clean
        if cell.scope not in (None, "call"):
            injector = fault_of(self._cfg, cell).build(self.study.corpus, self._embedder)
            site = Site(
                task,
                clean,
                self._agent,
                policy,
                self._agent.top_k,
                run_query(self.study, cell, run),
                cell.repeat,
            )
            prepared = injector.inject(site)
            if isinstance(prepared, Missing):
                raise ConfigError(f"{run.id}: the fault cannot be placed again ({prepared})")
            working, policy = prepared.environment, prepared.policy or policy
        case = Flagged(task, run.stages, self._agent, policy, working)
        if method == "CRR":
            return crr(case)
        drift = self.verdicts.signals[self.place[run.id], :, 1]
        return prr(case, last_clean(drift, self.flagged_at(run)))


def _cell_rows(
    sheet: Sheet, cfg: DictConfig, redo: _Redo, cell: Cell, method: str, runs: list[Trajectory]
) -> None:
    """MSR over flagged runs that were wrong, EPR over all that were wrong, and the harm to right answers."""
    gold = redo.study.corpus.gold
    before, after, flagged, share = [], [], [], []
    for run in runs:
        right = is_correct(run, gold[run.task_id])
        hit = redo.flagged_at(run) > 0
        new = redo.act(cell, run, method) if hit else None
        answer = None if new is None else new.stages[-1].answer
        before.append(right)
        flagged.append(hit)
        after.append(right if new is None else is_correct(replace(run, answer=answer), gold[run.task_id]))
        if new is not None:
            share.append(new.redone / len(new.stages))
    b, a, f = (np.array(x, dtype=bool) for x in (before, after, flagged))
    condition = cell.condition(str(cfg.faults.name))
    tried = {"not_flagged_or_right": int((~(f & ~b)).sum())}
    if cell.scope is not None:
        msr = metrics.msr(a, np.asarray(f & ~b))
        sheet.add("V", "msr", method, condition, msr, "rate", tried, "flagged runs whose answer was wrong")
        rng = generator(cfg.seed, "epr", method, "interval")
        epr = metrics.epr(np.asarray(~a & ~b), np.asarray(~b), rng, [t.task_id for t in runs])
        note = "over all runs; answers that were right before count under harm"
        sheet.add("V", "epr", method, condition, epr, "rate", {}, note)
    harm = wilson(int((f & b & ~a).sum()), int((f & b).sum()))
    sheet.add("V", "harm", method, condition, harm, "rate", {}, "flagged right answers that became wrong")
    if share:
        rng = generator(cfg.seed, "overhead", method, "interval")
        overhead = bootstrap(share, rng)
        sheet.add("V", "redone_share", method, condition, overhead, "share", {}, "stages executed again")

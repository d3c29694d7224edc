"""The measure verb of a CHARM study: from scored trajectories to results rows, over repeats and axes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from omegaconf import DictConfig

from experiments import charm_rows
from experiments.charm_population import Assignment, Cell, Study, assign, cells
from experiments.charm_rows import Measured, Names, Sheet
from faultline.charm.decide import CharmSettings, decide
from faultline.charm.scores import StageScores
from faultline.errors import Missing
from faultline.records import Trajectory
from faultline.results import Row
from faultline.stats import Estimate, generator

REPEATED = ("VI", "VII")
"""Tables whose values are reported as mean and SD over repeats (the paper does so for CHARM's row)."""


def assignments(cfg: DictConfig, study: Study) -> dict[Cell, Assignment]:
    """Who is clean and who is injected, by clean cell."""
    wanted = cells(cfg)
    found = {}
    for clean in (cell for cell in wanted if cell.scope is None):
        scoped = [c for c in wanted if c.scope is not None and replace(c, scope=None) == clean]
        found[clean] = assign(study, clean, scoped[0], cfg.seed)
    return found


def used(cfg: DictConfig, study: Study, who: dict[Cell, Assignment]) -> list[Trajectory]:
    """The trajectories that must be scored, by id."""
    needed: dict[str, Trajectory] = {}
    for cell, outcomes in study.outcomes.items():
        members = who[replace(cell, scope=None)]
        names = members.clean if cell.scope is None else members.injected
        for name in members.eligible if cfg.paired else names:
            outcome = outcomes[name]
            if not isinstance(outcome, Missing):
                needed[outcome.id] = outcome
    return [needed[name] for name in sorted(needed)]


def measure(
    cfg: DictConfig,
    study: Study,
    who: dict[Cell, Assignment],
    trajectories: Sequence[Trajectory],
    scores: StageScores,
    settings: CharmSettings,
    names: Names,
) -> list[Row]:
    """Every results row of the study."""
    measured = Measured(
        study=study,
        scores=scores,
        verdicts=decide(scores, settings),
        settings=settings,
        place={t.id: row for row, t in enumerate(trajectories)},
        fault=str(cfg.faults.name),
        seed=int(cfg.seed),
        resamples=int(cfg.resamples),
    )
    by_repeat = [
        _one_repeat(cfg, measured, {c: a for c, a in who.items() if c.repeat == repeat}, names)
        for repeat in range(cfg.repeats)
    ]
    return by_repeat[0] + (_over_repeats(by_repeat) if cfg.repeats > 1 else [])


def lengths(trajectories: Sequence[Trajectory], tokens: dict[str, int], seed: int, names: Names) -> list[Row]:
    """Median stage output length in tokens of the NLI model (paper 1, VI-A3), percentile interval."""
    counts = [tokens[s.text] for t in trajectories for s in t.stages if s.text in tokens]
    sheet = Sheet(names)
    values = np.asarray(counts, dtype=np.float64)
    if values.size:
        rng = generator(seed, "lengths", "interval")
        drawn = np.median(rng.choice(values, size=(2000, values.size)), axis=1)
        low, high = np.quantile(drawn, [0.025, 0.975])
        estimate = Estimate(float(np.median(values)), float(low), float(high), values.size)
        sheet.add("lengths", "median_stage_tokens", "none", "", estimate, "tokens")
    return sheet.rows


def _one_repeat(cfg: DictConfig, measured: Measured, who: dict[Cell, Assignment], names: Names) -> list[Row]:
    sheet = Sheet(names)
    for clean_cell, members in who.items():
        charm_rows.population(sheet, measured, clean_cell, members)
        clean = measured.group(clean_cell, members.clean)
        charm_rows.false_alarms(sheet, measured, clean)
        charm_rows.signals(sheet, measured, clean)
        for cell in cells(cfg):
            if cell.scope is None or replace(cell, scope=None) != clean_cell:
                continue
            group = measured.group(cell, members.injected)
            for part in (
                charm_rows.detection,
                charm_rows.types_and_routes,
                charm_rows.lemma1,
                charm_rows.signals,
                charm_rows.propagation,
            ):
                part(sheet, measured, group)
            if cfg.paired:
                both = measured.group(clean_cell, members.eligible), measured.group(cell, members.eligible)
                charm_rows.paired(sheet, measured, *both)
    return sheet.rows


def _over_repeats(by_repeat: Sequence[Sequence[Row]]) -> list[Row]:
    """Mean and SD over repeats of the tables that the paper reports so; low and high are mean -+ SD."""
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for rows in by_repeat:
        for row in rows:
            if row.table in REPEATED:
                groups[(row.table, row.metric, row.system, row.condition)].append(row)
    return [_mean_and_sd(rows) for rows in groups.values()]


def _mean_and_sd(rows: Sequence[Row]) -> Row:
    values: npt.NDArray[np.float64] = np.array(
        [row.value for row in rows if row.value is not None], dtype=float
    )
    first, runs = rows[0], len(rows)
    known = values.size > 0
    mean = float(values.mean()) if known else None
    spread = float(values.std(ddof=1)) if values.size > 1 else None
    return replace(
        first,
        condition=f"{first.condition};repeats={runs}",
        value=mean,
        low=None if mean is None or spread is None else mean - spread,
        high=None if mean is None or spread is None else mean + spread,
        n_total=runs,
        n_scored=int(values.size),
        n_missing=runs - int(values.size),
        note=f"mean -+ SD over {runs} repeats; the split into injected and clean, and the donors, vary"
        + ("" if known else "; missing: not_run"),
    )

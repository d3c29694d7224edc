"""CHARM under every combination of its open readings, over one scored study (a specification curve)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig, OmegaConf

from experiments import charm_eval
from experiments.charm_eval import Scored, score_study, settings_of
from experiments.charm_population import Cell, cells
from experiments.charm_rows import Sheet
from faultline.charm import metrics
from faultline.charm.multiverse import Multiverse, conditionally_dead, multiverse
from faultline.charm.scores import BoolArray, IntArray
from faultline.reporting.run_context import Outcome, RunContext
from faultline.stats import Estimate

OPTIONS = charm_eval.OPTIONS | {"axes", "printed"}
CRITERIA = ("strict", "windowed", "liberal")
CURVE = "multiverse"
"""File stem of the table of universes."""

inputs = charm_eval.inputs


@dataclass(frozen=True, slots=True)
class Sets:
    """Rows of the scores that are measured together: injected, with their stages, and clean."""

    condition: str
    injected: IntArray
    stage: IntArray
    clean: IntArray


def plan(cfg: DictConfig) -> list[str]:
    """What a run would do."""
    size = int(np.prod([len(v) for v in cfg.axes.values()]))
    return [*charm_eval.plan(cfg), f"decide: {size} universes, fewer where an axis changes nothing"]


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Score once, decide in every universe, measure each."""
    made = score_study(cfg, context)
    started = time.perf_counter()
    plain: Any = OmegaConf.to_container(cfg.axes, resolve=True)
    axes = {name: tuple(options) for name, options in plain.items()}
    found = multiverse(made.scores, settings_of(cfg), axes)
    tables, sheet = [], Sheet(made.names)
    for sets in paired_sets(cfg, made):
        table = measured(found, sets, made.scores.stages)
        tables.append(table.assign(condition=sets.condition))
        _rows(sheet, found, sets, table, made, OmegaConf.to_container(cfg.printed))
    _structure(sheet, found)
    return Outcome(
        rows=sheet.rows,
        tables={CURVE: pd.concat(tables, ignore_index=True)},
        timings={"multiverse_s": time.perf_counter() - started},
        manifest={"dead_axes": list(found.dead), "seeds": {"seed": cfg.seed}},
    )


def measured(found: Multiverse, sets: Sets, stages: int) -> pd.DataFrame:
    """One row a universe: its choices, whether it is distinct, and the four rates."""
    table = pd.DataFrame([dict(choice) for choice in found.choices])
    table.insert(0, "universe", np.arange(len(table)))
    table["distinct"] = found.same_as == np.arange(len(table))
    injected = found.flagged[:, sets.injected]
    for criterion in CRITERIA:
        table[f"cdr_{criterion}"] = [
            (metrics.detection_stage(flags, sets.stage, criterion, stages) > 0).mean() for flags in injected
        ]
    table["fpr"] = found.flagged[:, sets.clean].any(axis=2).mean(axis=1)
    return table


def summary(table: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Default, range and nearest universe, by condition."""
    shown = table[table["table"] == "multiverse"]
    lines = pd.DataFrame(
        {
            "condition": [c.split(";universe=")[0] for c in shown["condition"]],
            "universe": [s.removeprefix("charm:") for s in shown["system"]],
            "metric": list(shown["metric"]),
            "value": [_text(r) for r in shown.to_dict("records")],
        }
    )
    wide = lines.pivot_table(
        index=["condition", "universe"], columns="metric", values="value", aggfunc="first", sort=False
    )
    counts = table[table["table"] == "multiverse_structure"][["metric", "value", "note"]]
    return {"CHARM over its open readings": wide.reset_index(), "Universes": counts.reset_index(drop=True)}


def _text(row: Mapping[Any, Any]) -> str:
    return f"{100 * row['value']:.1f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"


def paired_sets(cfg: DictConfig, made: Scored) -> Iterator[Sets]:
    """The injected and clean trajectories of each scope and trust, first repeat, where there are both."""
    place = {t.id: row for row, t in enumerate(made.used)}
    for cell in cells(cfg):
        if cell.scope is None or cell.repeat:
            continue
        clean = replace(cell, scope=None)
        members = made.who[clean]
        injected = _made(made, cell, members.injected)
        if injected and members.clean:
            yield Sets(
                cell.condition(str(cfg.faults.name)),
                np.array([place[t.id] for t in injected], dtype=np.int64),
                np.array([t.certificate.stage for t in injected if t.certificate], dtype=np.int64),
                np.array([place[t.id] for t in _made(made, clean, members.clean)], dtype=np.int64),
            )


def _made(made: Scored, cell: Cell, tasks: Sequence[str]) -> list[Any]:
    outcomes = (made.study.outcomes[cell][name] for name in tasks)
    return [outcome for outcome in outcomes if hasattr(outcome, "certificate")]


def _rows(
    sheet: Sheet, found: Multiverse, sets: Sets, table: pd.DataFrame, made: Scored, printed: Any
) -> None:
    """The default, the extremes of each rate, and the universe nearest to the print, with intervals."""
    chosen = {"default": found.default}
    for metric in ("cdr_strict", "fpr"):
        chosen[f"lowest_{metric}"] = int(table[metric].to_numpy().argmin())
        chosen[f"highest_{metric}"] = int(table[metric].to_numpy().argmax())
    distance = (table["cdr_strict"] - printed["cdr"]) ** 2 + (table["fpr"] - printed["fpr"]) ** 2
    chosen["nearest_to_print"] = int(distance.to_numpy().argmin())
    gain = table["cdr_strict"] - table["fpr"]
    chosen["best_cdr_minus_fpr"] = int(gain.to_numpy().argmax())
    for name, universe in chosen.items():
        note = json.dumps(dict(found.choices[universe]))
        for metric, estimate in rates(found.flagged[universe], sets, made.scores.stages).items():
            at = f"{sets.condition};universe={universe}"
            sheet.add("multiverse", metric, f"charm:{name}", at, estimate, "rate", {}, note)


def rates(flagged: BoolArray, sets: Sets, stages: int) -> dict[str, Estimate]:
    """The four rates of one universe with Wilson intervals."""
    injected = flagged[sets.injected]
    rated = {
        f"cdr_{c}": metrics.cdr(injected, sets.stage, c, stages) for c in ("strict", "windowed", "liberal")
    }
    return {**rated, "fpr": metrics.fpr(flagged[sets.clean])}


def _structure(sheet: Sheet, found: Multiverse) -> None:
    """How many universes there are, how many differ, and which axes are dead."""
    size = len(found.choices)
    for metric, value, note in (
        ("universes", size, "; ".join(f"{k}: {len(v)}" for k, v in found.axes.items())),
        ("distinct_universes", found.distinct, "; ".join(conditionally_dead(found)) or "none is dead"),
        ("dead_axes", len(found.dead), ", ".join(found.dead) or "none"),
    ):
        estimate = Estimate(float(value), None, None, size)
        sheet.add("multiverse_structure", metric, "charm", "", estimate, "count", {}, note)

"""Rows of the re-run studies of paper 2, from their two tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from faultline.attribution import localization as loc
from faultline.errors import FAILED_CALLS
from faultline.results import Row
from faultline.stats import Estimate, bootstrap, generator, holm, paired_difference, wilson

OUTCOMES = ("resisted", "absorbed", "derailed")
REFERENCE = "changepoint"
THRESHOLDS = (0.5, 0.7, 0.9)


@dataclass(frozen=True, slots=True)
class Names:
    """What every row of a study shares."""

    experiment: str
    dataset: str
    backbone: str
    embedder: str
    resamples: int
    target: int
    nli: str = ""

    def row(
        self,
        table: str,
        metric: str,
        system: str,
        condition: str,
        value: Estimate | float | None,
        n: int,
        *,
        unit: str = "rate",
        needs_gold: bool = False,
        missing: int = 0,
        note: str = "",
    ) -> Row:
        """One row over ``n`` scored cases."""
        known = value if isinstance(value, Estimate) else Estimate(value, None, None, n)
        why = note or ("undefined: no cases" if known.value is None else "")
        return Row(
            "fp", self.experiment, table, metric, system, self.dataset, condition, self.backbone, self.nli,
            self.embedder, needs_gold, known.value, known.low, known.high, unit, n + missing, n, missing, why,
        )  # fmt: skip

    def mean(self, values: Any, tasks: Sequence[str], *key: object) -> Estimate:
        """A mean with its interval over questions: Wilson for one case a question and 0/1, else BCa.

        Where all cases are 0, or all are 1, no resample varies: then Wilson over the questions.
        """
        data = np.asarray(values, dtype=np.float64)
        questions, seen = len(set(tasks)), set(np.unique(data))
        if questions == len(tasks) and seen <= {0.0, 1.0}:
            return wilson(int(data.sum()), len(data))
        if seen in ({0.0}, {1.0}):
            rate = wilson(questions if seen == {1.0} else 0, questions)
            return replace(rate, n=len(data))
        rng = generator(self.experiment, *key)
        return bootstrap(data, rng, clusters=list(tasks), resamples=self.resamples)

    def difference(self, first: Any, second: Any, tasks: Sequence[str], *key: object) -> Estimate:
        """A paired difference of two rates over questions: Newcombe's for one case a question, else BCa."""
        one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
        if len(set(tasks)) == len(tasks):
            return paired_difference(one, two)
        rng = generator(self.experiment, *key)
        return bootstrap(one - two, rng, clusters=list(tasks), resamples=self.resamples)


def selection_rows(
    names: Names, cases: pd.DataFrame, skipped: Mapping[str, Mapping[str, int]]
) -> Iterator[Row]:
    """Who was injected, who failed, what became of content faults, and why others were skipped."""
    for where, reasons in skipped.items():
        part = cases.loc[cases["where"] == where]
        total = len(part) + sum(reasons.values())
        yield names.row("selection", "injected", "all", where, float(len(part)), total, unit="count")
        for reason, k in sorted(reasons.items()):
            yield names.row("selection", f"skipped_{reason}", "all", where, float(k), total, unit="count")
    for where, part in _groups(cases):
        n, lost = len(part), int((~part["recovered"]).sum())
        yield names.row("outcomes", "failed", "all", where, float(lost), n, unit="count")
        value = names.mean(part["recovered"], list(part["task"]), "recovery", where)
        yield names.row("outcomes", "recovery", "all", where, value, n)
        chance = part["placebo_flips"].dropna()
        if len(chance):
            value = names.mean(chance, list(part.loc[chance.index, "task"]), "placebo", where)
            yield names.row("controls", "placebo_flip", "all", where, value, len(chance), needs_gold=True)
        if (part["outcome"] != "").any():
            for outcome in OUTCOMES:
                value = names.mean(part["outcome"] == outcome, list(part["task"]), outcome, where)
                yield names.row("outcomes", outcome, "all", where, value, n)
            value = names.mean(part["contaminated"], list(part["task"]), "contaminated", where)
            yield names.row("outcomes", "contaminated", "all", where, value, n)


def recovery_range_rows(names: Names, cases: pd.DataFrame, least: int = 5) -> Iterator[Row]:
    """The lowest and the highest recovery among the cells (one fault, one depth) of a family.

    Args:
        names: What every row shares.
        cases: One row a case.
        least: Smallest cell that counts: a cell of one or two cases is 0 or 1 by chance.
    """
    for (setting, family, scope), part in cases.groupby(["setting", "family", "scope"]):
        cells = part.groupby(["fault", "depth"])["recovered"].agg(["mean", "size"])
        kept = cells[cells["size"] >= least]["mean"]
        where = f"family={family};scope={scope};{setting}"
        note = f"over {len(kept)} cells of at least {least} cases"
        for metric, value in (("recovery_lowest", kept.min()), ("recovery_highest", kept.max())):
            known = float(value) if len(kept) else None
            yield names.row("outcomes", metric, "all", where, known, len(part), note=note)


def accuracy_rows(names: Names, table: pd.DataFrame) -> Iterator[Row]:
    """How well each diagnoser names the hop, over failed cases."""
    for where, part in _groups(table):
        for (system, gold), said in part.groupby(["system", "needs_gold"], sort=True):
            yield from _system_rows(names, str(system), bool(gold), where, said, "family=" in where)
    for (setting, family, scope, suffix), part in table.groupby(["setting", "family", "scope", "suffix"]):
        where = f"family={family};scope={scope};suffix={suffix};{setting}"
        for (system, gold), said in part.groupby(["system", "needs_gold"], sort=True):
            hits = loc.exact(said["said_hop"], said["depth"])
            value = names.mean(hits, list(said["task"]), "suffix", system, where)
            yield names.row(
                "suffix", "exact_hop", str(system), where, value, len(said), needs_gold=bool(gold)
            )
    for (setting, family, scope, position), part in table.groupby(["setting", "family", "scope", "position"]):
        where = f"family={family};scope={scope};position={position};{setting}"
        for (system, gold), said in part.groupby(["system", "needs_gold"], sort=True):
            hits = loc.exact(said["said_hop"], said["depth"])
            value = names.mean(hits, list(said["task"]), "position", system, where)
            at = ("position", "exact_hop", str(system), where)
            yield names.row(*at, value, len(said), needs_gold=bool(gold))


def _system_rows(
    names: Names, system: str, gold: bool, where: str, said: pd.DataFrame, full: bool
) -> Iterator[Row]:
    failed = said["reason"].isin([str(reason) for reason in FAILED_CALLS])
    lost = Counter(said.loc[failed, "reason"])
    why = f"missing: {', '.join(f'{k}={v}' for k, v in sorted(lost.items()))}" if lost else ""
    said = said[~failed]
    n, tasks = len(said), list(said["task"])
    told: dict[str, Any] = {"needs_gold": gold, "missing": lost.total(), "note": why}
    if not n:
        yield names.row("accuracy", "exact_hop", system, where, None, 0, **told)
        return
    hits = loc.exact(said["said_hop"], said["depth"])
    stage = loc.same_stage(said["said_stage"], said["stage"])
    measures: dict[str, tuple[Any, str]] = {"exact_hop": (hits, "rate")}
    if full:
        measures |= {
            "stage": (stage, "rate"),
            "within_one": (loc.within_one(said["said_hop"], said["depth"]), "rate"),
            "ancestor": (loc.ancestor(stage, said["said_hop"], said["depth"]), "rate"),
            "hop_mae": (loc.hop_error(said["said_hop"], said["depth"]), "hops"),
            "abstained": ((said["said_hop"] == 0).astype(float), "rate"),
            "probe_tokens": (said["tokens"], "tokens"),
            "placebo_tokens": (said["placebo_tokens"], "tokens"),
        }
    uncounted = int(said["tokens"].isna().sum())
    if uncounted and full:  # a sum over some of the cases is not the cost of all
        measures.pop("probe_tokens")
        note = "; ".join(filter(None, (why, f"missing: no_usage={uncounted}")))
        for metric in ("probe_tokens", "tokens_per_correct"):
            at = ("accuracy", metric, system, where)
            yield names.row(*at, None, 0, unit="tokens", needs_gold=gold, missing=n + lost.total(), note=note)
    for metric, (values, unit) in measures.items():
        value = names.mean(values, tasks, metric, system, where)
        yield names.row("accuracy", metric, system, where, value, n, unit=unit, **told)
    if full and not uncounted:
        cost = loc.tokens_per_correct(said["tokens"], hits)
        told["note"] = "; ".join(
            filter(None, (why, "" if cost is not None else "undefined: no correct diagnosis"))
        )
        at = ("accuracy", "tokens_per_correct", system, where)
        yield names.row(*at, cost, n, unit="tokens", **told)


def probe_rows(names: Names, asked: Mapping[str, tuple[int, Mapping[str, int]]]) -> Iterator[Row]:
    """Interventions that a model's failure left without an answer, by setting and reason.

    Args:
        names: What every row shares.
        asked: By setting, how many were asked for, and the failed ones by reason.
    """
    for setting, (total, failed) in asked.items():
        for reason, count in sorted(failed.items()):
            yield names.row("selection", f"probe_{reason}", "all", setting, float(count), total, unit="count")


def calibration_rows(names: Names, table: pd.DataFrame) -> Iterator[Row]:
    """Brier score of the named hop's probability, and accuracy among the surest cases."""
    known = table.loc[table["confidence"].notna() & (table["system"] != "random_hop")]
    for (setting, family, scope, system, gold), part in known.groupby(
        ["setting", "family", "scope", "system", "needs_gold"], sort=True
    ):
        where = f"family={family};scope={scope};{setting}"
        tasks = list(part["task"])
        hits = loc.exact(part["said_hop"], part["depth"])
        value = names.mean((part["confidence"] - hits) ** 2, tasks, "brier", system, where)
        yield names.row(
            "calibration", "brier", str(system), where, value, len(part), unit="score", needs_gold=bool(gold)
        )
        for threshold in THRESHOLDS:
            kept = (part["confidence"] >= threshold).to_numpy()
            at = f"{where};threshold={threshold:g}"
            chosen = [t for t, k in zip(tasks, kept, strict=True) if k]
            value = names.mean(hits[kept], chosen, "selective", system, at)
            yield names.row(
                "calibration", "selective_exact_hop", str(system), at, value, int(kept.sum()),
                needs_gold=bool(gold), missing=int((~kept).sum()), note=f"missing: abstained={(~kept).sum()}",
            )  # fmt: skip


def pair_rows(names: Names, table: pd.DataFrame) -> Iterator[Row]:
    """Discordant pairs of our diagnoser with every other one, McNemar (exact), Holm over the table."""
    wide = table.pivot_table(index=["setting", "case", "family", "scope", "depth"], columns="system",
                             values="said_hop", aggfunc="first")  # fmt: skip
    if REFERENCE not in wide.columns:
        return
    found = []
    for (setting, family, scope, depth), part in wide.groupby(["setting", "family", "scope", "depth"]):
        true = np.full(len(part), depth)
        first = loc.exact(part[REFERENCE], true)
        for system in (c for c in wide.columns if c != REFERENCE):
            ours, theirs = loc.discordant(first, loc.exact(part[system], true))
            p = float(binomtest(ours, ours + theirs).pvalue) if ours + theirs else 1.0
            where = f"family={family};scope={scope};depth={depth};{setting}"
            found.append((f"{REFERENCE}:{system}", where, len(part), ours, theirs, p))
    for (name, where, n, ours, theirs, p), adjusted in zip(found, holm([f[5] for f in found]), strict=True):
        yield names.row(
            "pairs", "discordant_first", name, where, float(ours), n, unit="count", needs_gold=True
        )
        yield names.row(
            "pairs", "discordant_second", name, where, float(theirs), n, unit="count", needs_gold=True
        )
        yield names.row("pairs", "mcnemar_p", name, where, p, n, unit="p", needs_gold=True)
        yield names.row("pairs", "mcnemar_p_holm", name, where, float(adjusted), n, unit="p", needs_gold=True)


def power_rows(names: Names, cases: pd.DataFrame, questions: int) -> Iterator[Row]:
    """Base questions that the failed-case target needs at the failure rate seen, and whether it was met."""
    for (setting, family, scope, depth), part in cases.groupby(["setting", "family", "scope", "depth"]):
        where = f"family={family};scope={scope};depth={depth};{setting}"
        lost = int((~part["recovered"]).sum())
        need = questions_needed(lost, questions, names.target)
        note = f"target {names.target} failed cases: {'met' if lost >= names.target else 'not met'}"
        yield names.row(
            "power", "questions_needed", "all", where, None if need is None else float(need), questions,
            unit="count", note=note,
        )  # fmt: skip


def questions_needed(failed: int, questions: int, target: int) -> int | None:
    """Questions for ``target`` failed cases at the rate seen; None if nothing failed."""
    return math.ceil(target * questions / failed) if failed else None


def _groups(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Cells (one fault, one depth), and each family pooled by depth."""
    for (setting, fault, scope, depth), part in table.groupby(["setting", "fault", "scope", "depth"]):
        yield f"depth={depth};fault={fault};scope={scope};{setting}", part
    for (setting, family, scope, depth), part in table.groupby(["setting", "family", "scope", "depth"]):
        yield f"depth={depth};family={family};scope={scope};{setting}", part


def control_rows(names: Names, static: pd.DataFrame, alarms: pd.DataFrame) -> Iterator[Row]:
    """The static control (the fault in the trace, the suffix not re-executed) and false alarms."""
    if len(static):
        for (setting, family, depth, system, gold), part in static.groupby(
            ["setting", "family", "depth", "system", "needs_gold"], sort=True
        ):
            where = f"depth={depth};family={family};static=1;{setting}"
            hits = loc.exact(part["said_hop"], part["depth"])
            value = names.mean(hits, list(part["task"]), "static", system, where)
            at = ("controls", "exact_hop", str(system), where)
            yield names.row(*at, value, len(part), needs_gold=bool(gold))
    if len(alarms):
        for (setting, system, gold), part in alarms.groupby(["setting", "system", "needs_gold"], sort=True):
            value = names.mean(part["said_hop"] > 0, list(part["task"]), "alarm", system, setting)
            at = ("controls", "false_alarm", str(system), f"fault=none;{setting}")
            yield names.row(*at, value, len(part), needs_gold=bool(gold))

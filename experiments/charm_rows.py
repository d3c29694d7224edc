"""Results rows of a CHARM study: Tables VI and VII, types, routes, Lemma 1, signals, and who was in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from experiments.charm_population import Assignment, Cell, Study
from faultline.agents.trajectories import is_correct
from faultline.charm import controls, metrics
from faultline.charm.cascade_types import CASCADE_TYPES
from faultline.charm.decide import CharmSettings, Verdicts
from faultline.charm.scores import BoolArray, FloatArray, StageScores
from faultline.errors import Missing
from faultline.records import Trajectory
from faultline.results import Row
from faultline.stats import Estimate, bootstrap, generator, wilson


@dataclass(frozen=True, slots=True)
class Names:
    """What every row says about where it comes from."""

    experiment: str
    dataset: str
    backbone: str
    nli: str
    embedder: str


@dataclass(slots=True)
class Sheet:
    """Collects rows of one study."""

    names: Names
    rows: list[Row] = field(default_factory=list)

    def add(
        self,
        table: str,
        metric: str,
        system: str,
        condition: str,
        estimate: Estimate,
        unit: str = "rate",
        missing: Mapping[str, int] | None = None,
        note: str = "",
    ) -> None:
        """One row; ``missing`` counts the cases without a value, by reason."""
        lost = {reason: count for reason, count in sorted((missing or {}).items()) if count}
        reasons = "missing: " + ", ".join(f"{r}={c}" for r, c in lost.items()) if lost else ""
        self.rows.append(
            Row(
                paper="charm",
                experiment=self.names.experiment,
                table=table,
                metric=metric,
                system=system,
                dataset=self.names.dataset,
                condition=condition,
                backbone=self.names.backbone,
                nli=self.names.nli,
                embedder=self.names.embedder,
                needs_gold=False,
                value=estimate.value,
                low=estimate.low,
                high=estimate.high,
                unit=unit,
                n_total=estimate.n + sum(lost.values()),
                n_scored=estimate.n,
                n_missing=sum(lost.values()),
                note="; ".join(part for part in (note, reasons) if part),
            )
        )


@dataclass(frozen=True, slots=True)
class Group:
    """Trajectories of one cell that are measured together.

    Attributes:
        rows: Their places in the scores.
        questions: Their task ids.
        missing: Assigned tasks without a trajectory, by reason.
    """

    cell: Cell
    condition: str
    rows: np.ndarray
    trajectories: tuple[Trajectory, ...]
    missing: Counter[str]

    @property
    def questions(self) -> list[str]:
        """Task ids, the clusters of every interval."""
        return [t.task_id for t in self.trajectories]


@dataclass(frozen=True, slots=True)
class Measured:
    """A scored study: verdicts, controls, and how to find a trajectory in them."""

    study: Study
    scores: StageScores
    verdicts: Verdicts
    settings: CharmSettings
    place: Mapping[str, int]
    fault: str
    seed: int
    resamples: int

    def systems(self) -> dict[str, BoolArray]:
        """Flags of CHARM and of each control, shape (n, S)."""
        return {
            "charm": self.verdicts.flagged,
            "never": controls.never(self.scores),
            "always": controls.always(self.scores),
            "per_step": controls.per_step(self.scores, self.settings.sfv.tau),
        }

    def group(self, cell: Cell, tasks: Sequence[str]) -> Group:
        """The trajectories of some tasks in a cell."""
        found, missing = [], Counter[str]()
        for name in tasks:
            outcome = self.study.outcomes[cell][name]
            if isinstance(outcome, Missing):
                missing[str(outcome)] += 1
            else:
                found.append(outcome)
        rows = np.array([self.place[t.id] for t in found], dtype=np.int64)
        return Group(cell, cell.condition(self.fault), rows, tuple(found), missing)

    def rng(self, *key: object) -> np.random.Generator:
        """The generator of one interval; conditions share it, so that equal data give equal intervals."""
        return generator(self.seed, *key, "interval")


def detection(sheet: Sheet, measured: Measured, group: Group) -> None:
    """CDR under the three criteria, CDD; EPR and MSR are not run until there is a mitigation."""
    stage = np.array([t.certificate.stage for t in group.trajectories if t.certificate], dtype=np.int64)
    for system, flags in measured.systems().items():
        flagged = flags[group.rows]
        note = _note(measured, system, group)
        for criterion in ("strict", "windowed", "liberal"):
            rate = metrics.cdr(flagged, stage, criterion, measured.scores.stages)
            sheet.add("VI", f"cdr_{criterion}", system, group.condition, rate, "rate", group.missing, note)
        rng = measured.rng("cdd", system)
        depth = metrics.cdd(flagged, stage, rng, "strict", group.questions)
        undetected = Counter(group.missing) + Counter(not_detected=len(stage) - depth.n)
        sheet.add("VI", "cdd", system, group.condition, depth, "stage", undetected, note)
        sheet.add(
            "VII", "cdr", system, group.condition, metrics.cdr(flagged, stage), "rate", group.missing, note
        )
    nothing = Estimate(None, None, None, 0)
    for metric in ("epr", "msr"):
        lost = {str(Missing.NOT_RUN): len(stage) + sum(group.missing.values())}
        sheet.add("VI", metric, "charm", group.condition, nothing, "rate", lost, "no mitigation yet")


def false_alarms(sheet: Sheet, measured: Measured, group: Group) -> None:
    """FPR over clean trajectories, at any stage and before the output."""
    for system, flags in measured.systems().items():
        flagged = flags[group.rows]
        note = _note(measured, system, group)
        sheet.add("VI", "fpr", system, group.condition, metrics.fpr(flagged), "rate", group.missing, note)
        early = metrics.fpr_before_output(flagged, measured.scores.stages)
        sheet.add("VI", "fpr_before_output", system, group.condition, early, "rate", group.missing, note)


def types_and_routes(sheet: Sheet, measured: Measured, group: Group) -> None:
    """What CHARM takes a flagged cascade for, and where Algorithm 1 sends it."""
    true = [t.certificate.cascade_type for t in group.trajectories if t.certificate]
    inferred = [str(name) for name in measured.verdicts.cascade_type[group.rows]]
    counts = metrics.type_confusion(true, inferred)
    for column, name in enumerate((*CASCADE_TYPES, "not_flagged")):
        total = Estimate(float(counts[:, column].sum()), None, None, len(true))
        sheet.add("types", f"inferred_{name}", "charm", group.condition, total, "count", group.missing)
    unflagged = Counter(group.missing) + Counter(not_flagged=sum(name == "" for name in inferred))
    accuracy = metrics.type_accuracy(true, inferred)
    sheet.add("types", "type_accuracy", "charm", group.condition, accuracy, "rate", unflagged)
    shares = metrics.routing_shares(measured.verdicts.action[group.rows])
    for route, share in shares.items():
        sheet.add("routing", f"route_{route}", "charm", group.condition, share, "rate", unflagged)


def lemma1(sheet: Sheet, measured: Measured, group: Group) -> None:
    """Lemma 1 and Corollary 1: do injected cascades pass a per-step entailment detector?"""
    stage = np.array([t.certificate.stage for t in group.trajectories if t.certificate], dtype=np.int64)
    rng = measured.rng("lemma1")
    tested = metrics.lemma1(
        measured.scores[group.rows], stage, rng, measured.settings.sfv.tau, group.questions
    )
    lost = Counter(group.missing) + Counter(unscored=tested.n_missing)
    sheet.add("lemma1", "transitions_pass", "per_step", group.condition, tested.transitions, "rate", {})
    sheet.add("lemma1", "trajectories_pass", "per_step", group.condition, tested.trajectories, "rate", lost)


def signals(sheet: Sheet, measured: Measured, group: Group) -> None:
    """What the signals look like, stage by stage: means, and how often each threshold is crossed."""
    scores, verdicts = measured.scores[group.rows], measured.verdicts
    drift = 1.0 - scores.similarity_previous
    tau, limit = measured.settings.sfv.tau, measured.settings.csct.drift_threshold
    means: dict[str, FloatArray] = {
        "entailment_top1": scores.top1[..., 0],
        "entailment_consensus": scores.consensus[..., 0],
        "contradiction_consensus": scores.consensus[..., 2],
        "drift": drift,
        "p": verdicts.p[group.rows],
    }
    shares = {
        "below_tau_top1": (scores.top1[..., 0], lambda v: v < tau),
        "below_tau_consensus": (scores.consensus[..., 0], lambda v: v < tau),
        "above_drift_threshold": (drift, lambda v: v > limit),
        "flagged": (verdicts.p[group.rows], lambda v: v >= measured.settings.trigger.theta),
    }
    for column in range(scores.stages):
        condition = f"{group.condition};stage={column + 1}"
        for metric, values in means.items():
            _mean(sheet, measured, group, metric, condition, values[:, column])
        for metric, (values, test) in shares.items():
            _crossed(sheet, group, metric, condition, values[:, column], test)


def propagation(sheet: Sheet, measured: Measured, group: Group) -> None:
    """How far the error got: share of final answers that are wrong, and that are missing."""
    gold = measured.study.corpus.gold
    wrong = [not is_correct(t, gold[t.task_id]) for t in group.trajectories]
    silent = [t.answer is None for t in group.trajectories]
    reasons = Counter(str(t.missing) for t in group.trajectories if t.missing)
    told = ", ".join(f"{reason}={count}" for reason, count in sorted(reasons.items()))
    note = f"answers missing: {told}" if told else ""
    for metric, hits in (("final_wrong", wrong), ("final_missing", silent)):
        rate = wilson(sum(hits), len(hits))
        sheet.add("propagation", metric, "none", group.condition, rate, "rate", group.missing, note)


def paired(sheet: Sheet, measured: Measured, clean: Group, injected: Group) -> None:
    """Every eligible question in both conditions: does the fault raise the chance of an early flag?"""
    at = {t.task_id: row for t, row in zip(clean.trajectories, clean.rows, strict=True)}
    stage = {t.task_id: t.certificate.stage for t in injected.trajectories if t.certificate}
    condition = f"{injected.condition};paired=1"
    for system, flags in measured.systems().items():
        rows = [(flags[row], flags[at[t.task_id]], t.task_id) for t, row in _zip(injected) if t.task_id in at]
        early = np.array([[hit[: stage[q] + 1].any(), base[: stage[q] + 1].any()] for hit, base, q in rows])
        names = [q for _, _, q in rows]
        values = early.astype(np.float64).reshape(-1, 2)
        for metric, statistic in (
            ("early_flag_injected", lambda m: m[..., 0]),
            ("early_flag_clean", lambda m: m[..., 1]),
            ("early_flag_gain", lambda m: m[..., 0] - m[..., 1]),
        ):
            rng = measured.rng("paired", metric, system)
            estimate = bootstrap(values, rng, statistic, names, measured.resamples)
            sheet.add("paired", metric, system, condition, estimate, "rate", injected.missing)


def population(sheet: Sheet, measured: Measured, cell: Cell, assignment: Assignment) -> None:
    """Who was in the study, and why the others were not."""
    condition = cell.condition(measured.fault)
    kept = len(assignment.eligible)
    everyone = Estimate(float(kept), None, None, kept)
    sheet.add("population", "eligible", "none", condition, everyone, "count", assignment.skipped)
    for metric, members in (("clean", assignment.clean), ("injected", assignment.injected)):
        size = Estimate(float(len(members)), None, None, len(members))
        sheet.add("population", metric, "none", condition, size, "count")


def _mean(
    sheet: Sheet, measured: Measured, group: Group, metric: str, condition: str, values: FloatArray
) -> None:
    known = ~np.isnan(values)
    if not known.any():
        return
    names = [q for q, yes in zip(group.questions, known, strict=True) if yes]
    rng = measured.rng("signals", metric)
    estimate = bootstrap(values[known], rng, None, names, min(measured.resamples, 2000))
    lost = Counter(group.missing) + Counter(unscored=int((~known).sum()))
    sheet.add("signals", metric, "none", condition, estimate, "score", lost)


def _crossed(
    sheet: Sheet,
    group: Group,
    metric: str,
    condition: str,
    values: FloatArray,
    test: Callable[[FloatArray], BoolArray],
) -> None:
    known = ~np.isnan(values)
    if known.any():
        lost = Counter(group.missing) + Counter(unscored=int((~known).sum()))
        rate = wilson(int(test(values[known]).sum()), int(known.sum()))
        sheet.add("signals", metric, "none", condition, rate, "rate", lost)


def _note(measured: Measured, system: str, group: Group) -> str:
    if system != "charm" or not measured.verdicts.cpm_fallback[group.rows].any():
        return ""
    return "cpm=contradiction (no log-probabilities)"


def _zip(group: Group) -> Iterator[tuple[Trajectory, int]]:
    return zip(group.trajectories, group.rows, strict=True)

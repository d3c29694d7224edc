"""Traces of other pipelines as cases: the diagnosers that act on nothing can name a hop in them (paper 2, 4).

A foreign trace cannot be executed again, so a diagnoser that probes has nothing to ask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from faultline.attribution.diagnosis import Case, Diagnoser
from faultline.attribution.outcomes import covered
from faultline.attribution.records_table import diagnosis_rows
from faultline.errors import ConfigError
from faultline.interventions.probe import Probe, ProbeResult
from faultline.records import Gold, Stage, Trajectory
from faultline.traces.annotation import Annotated

EVIDENCE = ("retrieval", "tool_call")
READS = frozenset(("doctor_rag", "first_unread_hop", "nli_sufficiency"))
"""Diagnosers that look at what was read at each hop: nothing where the model kept silent between searches."""
COLUMNS = ("case", "system", "needs_gold", "said_stage", "said_hop", "confidence", "reason", "missing")


def hops_of_trace(trajectory: Trajectory) -> tuple[Stage, ...]:
    """The hops of a trace: each evidence stage, with what the model said before the next one as its reading.

    Args:
        trajectory: As :mod:`faultline.traces` made it.

    Returns:
        Renumbered from 1. The words after the last evidence, the synthesis among them, are the last hop's
        reading; a hop after which the model kept silent has none.
    """
    hops: list[Stage] = []
    said: list[list[str]] = []
    for stage in trajectory.stages:
        if stage.kind in EVIDENCE:
            hops.append(replace(stage, index=len(hops) + 1))
            said.append([])
        elif said:
            said[-1].append(stage.text)
    return tuple(replace(hop, answer="\n".join(words) or None) for hop, words in zip(hops, said, strict=True))


def case_of(trajectory: Trajectory, gold: Gold | None) -> Case:
    """A trace to diagnose; its support is the share of the answer's tokens in its best document."""
    hops = hops_of_trace(trajectory)
    answer = trajectory.answer
    shares = [covered(answer, hit.passage.rendered) for hop in hops for hit in hop.hits] if answer else []
    return Case(trajectory.id, trajectory.question, hops, answer, max(shares, default=0.0), gold, _no_probe)


def diagnose(
    trajectories: Sequence[Trajectory], diagnosers: Sequence[Diagnoser], known: Mapping[str, Annotated]
) -> pd.DataFrame:
    """What each diagnoser says of each trace.

    Args:
        trajectories: Traces.
        diagnosers: Of :func:`faultline.attribution.panel.panel` ``trace`` and their like.
        known: Annotations by trace id (``Trajectory.task_id``).

    Returns:
        One row a trace and diagnoser, columns :data:`COLUMNS`; ``missing`` is ``no_annotation`` or
        ``no_reading`` where it could not be asked, else empty. Hop 0: it names none.
    """
    rows: list[dict[str, object]] = []
    for trajectory in trajectories:
        annotated = known.get(trajectory.task_id)
        case = case_of(trajectory, annotated.gold if annotated else None)
        silent = any(hop.answer is None for hop in case.hops)
        for diagnoser in diagnosers:
            missing = ""
            if diagnoser.needs_gold and not _enough(diagnoser, case):
                missing = "no_annotation"
            elif diagnoser.name in READS and silent:
                missing = "no_reading"
            asked = [] if missing else diagnosis_rows(case, [diagnoser])
            blank = {"case": case.id, "system": diagnoser.name, "needs_gold": diagnoser.needs_gold}
            rows += [{**row, "missing": ""} for row in asked] or [{**blank, "missing": missing}]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _enough(diagnoser: Diagnoser, case: Case) -> bool:
    """Whether the annotation says what a diagnoser reads of it."""
    if case.gold is None:
        return False
    return bool(case.gold.hops) or diagnoser.name != "sub_answer_coverage"


def _no_probe(probe: Probe) -> ProbeResult:
    raise ConfigError(f"{probe.id}: a trace of another pipeline cannot be executed again")

"""Trajectories of a run as the viewer shows them: stages, signals, the edit as a diff, what was said of them.

Reads stores, signals and tables; a flag is what :func:`faultline.charm.decide.decide` says of the stored
scores under the run's own settings. Nothing is measured here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import hydra.utils
import numpy as np
import orjson
import pandas as pd

from faultline.charm.decide import CharmSettings, Verdicts, decide
from faultline.charm.metrics import detection_stage
from faultline.charm.score_table import from_frame
from faultline.charm.scores import StageScores
from faultline.codec import decode
from faultline.records import Certificate, Passage, Trajectory
from faultline.reporting.page import chained
from faultline.reporting.saved_run import SavedRun
from faultline.store import AppendStore

Record = dict[str, Any]
PARTS = ("sfv", "csct", "cpm", "trigger", "routing")
SAID = (
    *("system", "needs_gold", "said_hop", "said_stage", "confidence", "probes", "tokens"),
    *("placebo_tokens", "reason"),
)


def views(run: SavedRun) -> Iterator[Record]:
    """Every trajectory that the run used, in the order of its stores, then its review chains.

    Raises:
        StoreError: A store is damaged.
        DataError: A record is not a trajectory, or the signals are not as documented.
    """
    judged, said = _Judged(run), _Said(run)
    for trajectory, where in _used(run, judged, said):
        yield _view(run, trajectory, where, judged, said)
    yield from chained.views(run)


def count(run: SavedRun) -> int:
    """How many trajectories :func:`views` gives."""
    return sum(1 for _ in _used(run, _Judged(run), _Said(run))) + chained.count(run)


def _used(run: SavedRun, judged: _Judged, said: _Said) -> Iterator[tuple[Trajectory, str]]:
    """Trajectories with their setting; what other runs put into the same store is left out."""
    for path in run.store_files():
        if path.stem == "interventions":
            continue
        where = said.setting_of(path, run.stores)
        for record in AppendStore(path).read().values():
            if not isinstance(record, Mapping) or "trajectory" not in record:
                continue
            trajectory = decode(Trajectory, record["trajectory"])
            if judged.known and trajectory.id not in judged.place:
                continue
            if said.known and not said.used(where, trajectory):
                continue
            yield trajectory, where


def settings_of(config: Mapping[str, Any]) -> CharmSettings | None:
    """CHARM's settings from a run's configuration, None if it has none."""
    charm = config.get("charm")
    if not isinstance(charm, Mapping) or not all(part in charm for part in PARTS):
        return None
    made = {part: hydra.utils.instantiate(dict(charm[part]), _convert_="all") for part in PARTS}
    return CharmSettings(**made)


class _Judged:
    """CHARM's scores and verdicts by trajectory id; empty for a run without signals."""

    def __init__(self, run: SavedRun) -> None:
        table, settings = run.table("signals"), settings_of(run.config)
        self.known = table is not None and settings is not None
        self.place: dict[str, int] = {}
        self.theta: float | None = None
        outcomes = run.table("outcomes")
        records = [] if outcomes is None else _plain(outcomes)
        self.outcomes = {str(r["trajectory_id"]): r for r in records}
        self.envelopes = _envelopes(run.table("envelopes"))
        if table is not None and settings is not None:
            self.scores, ids = from_frame(table)
            self.verdicts = decide(self.scores, settings)
            self.place = {name: row for row, name in enumerate(ids)}
            self.theta = settings.trigger.theta

    def signals(self, name: str, stages: int) -> list[Record]:
        """Per stage: anomalies, trigger, and the scores under them."""
        row = self.place.get(name)
        if row is None:
            return [{} for _ in range(stages)]
        return [_at_stage(self.scores, self.verdicts, row, s) for s in range(stages)]

    def verdict(self, trajectory: Trajectory) -> Record:
        """First flag, criterion met, inferred type, route."""
        row = self.place.get(trajectory.id)
        if row is None:
            return {"caught": "not scored"}
        verdicts = self.verdicts
        flagged, first = verdicts.flagged[row : row + 1], int(verdicts.first[row])
        if trajectory.certificate is None:
            caught = "false alarm" if first else "quiet"
        else:
            injected = np.array([trajectory.certificate.stage])
            in_time = bool(detection_stage(flagged, injected, "strict")[0])
            caught = "in time" if in_time else "late" if first else "missed"
        return {
            "caught": caught,
            "first": first,
            "type": str(verdicts.cascade_type[row]),
            "route": str(verdicts.action[row]),
            "theta": self.theta,
        }


class _Said:
    """What diagnosers said of each case; empty for a run without diagnoses."""

    def __init__(self, run: SavedRun) -> None:
        cases, said = run.table("cases"), run.table("diagnoses")
        self.known = cases is not None and "case" in cases.columns
        self._settings = {str(v): str(k) for k, v in dict(run.manifest.get("settings", {})).items()}
        self.cases: dict[tuple[str, str], Record] = {}
        self.said: dict[tuple[str, str], list[Record]] = {}
        self._tasks: set[str] = set()
        if cases is None or not self.known:
            return
        for record in _plain(cases):
            self.cases[str(record.get("setting", "")), str(record["case"])] = record
            self._tasks.add(str(record.get("task", "")))
        for record in [] if said is None else _plain(said):
            key = str(record.get("setting", "")), str(record["case"])
            self.said.setdefault(key, []).append({k: record[k] for k in SAID if k in record})

    def setting_of(self, path: Path, stores: Path) -> str:
        """The setting that a store belongs to, empty where the run does not say."""
        place = path.parent if path.parent.parent != stores else path
        named = self._settings.get(str(place.relative_to(stores)))
        if named is not None:
            return named
        only = {setting for setting, _ in self.cases}
        return next(iter(only)) if len(only) == 1 else ""

    def used(self, setting: str, trajectory: Trajectory) -> bool:
        """Whether the run has a case of this trace, or its fault-free base."""
        if trajectory.certificate is None and trajectory.condition == "clean":
            return trajectory.task_id in self._tasks
        return (setting, trajectory.id) in self.cases


def _view(run: SavedRun, t: Trajectory, setting: str, judged: _Judged, said: _Said) -> Record:
    case = said.cases.get((setting, t.id), {})
    outcome = judged.outcomes.get(t.id, {})
    right = outcome.get("correct", case.get("recovered"))
    certificate = t.certificate
    signals = judged.signals(t.id, len(t.stages))
    return {
        "id": t.id,
        "run": run.name,
        "dataset": t.dataset,
        "task": t.task_id,
        "condition": "; ".join(x for x in (t.condition, setting) if x),
        "fault": certificate.fault if certificate else "none",
        "scope": certificate.scope if certificate else "none",
        "injected": certificate.stage if certificate else 0,
        "question": t.question,
        "answer": t.answer,
        "missing": str(t.missing) if t.missing else "",
        "backbone": t.backbone,
        "accepted": _accepted(outcome),
        "outcome": "no answer" if t.answer is None else _outcome(right),
        "certificate": _certificate(certificate),
        "stages": [{**_stage(t, s), **signals[s]} for s in range(len(t.stages))],
        "said": said.said.get((setting, t.id), []),
        "envelopes": judged.envelopes.get(t.id, []),
        "case": {k: v for k, v in case.items() if k not in ("case", "task", "setting", "where")},
        **(judged.verdict(t) if judged.known else {"caught": _named(case, said, setting, t)}),
    }


def _envelopes(table: pd.DataFrame | None) -> dict[str, list[Record]]:
    """Envelopes of review chains by trajectory, in their order.

    A run writes them as ``envelopes.parquet``: ``trajectory_id``, ``position``, ``from``, ``to``, ``text``,
    ``note`` (a cache hit, say) and ``raw``, the envelope as it was sent.
    """
    found: dict[str, list[Record]] = {}
    if table is None:
        return found
    for record in _plain(table.sort_values(["trajectory_id", "position"], kind="stable")):
        kept = {name: record.get(name) for name in ("from", "to", "text", "note", "raw")}
        found.setdefault(str(record["trajectory_id"]), []).append(kept)
    return found


def _stage(t: Trajectory, index: int) -> Record:
    stage = t.stages[index]
    return {
        "kind": stage.kind,
        "text": stage.text,
        "query": stage.query,
        "value": stage.answer,
        "confidence": stage.confidence,
        "source": stage.confidence_source,
        "missing": str(stage.missing) if stage.missing else "",
        "hits": [
            {"rank": h.rank, "score": _number(h.score), **_passage(h.passage, t.certificate)}
            for h in stage.hits
        ],
    }


def _passage(passage: Passage, certificate: Certificate | None) -> Record:
    """Title and text as runs ``[kind, text]`` (same, out, in), so that an edit shows as a diff."""
    hit = certificate is not None and passage.id == certificate.target
    edits = certificate.edits if certificate is not None and hit else ()
    title = pieces(passage.title, [(e.start, e.before, e.after) for e in edits if e.where == "title"])
    body: list[list[str]] = []
    for number, sentence in enumerate(passage.sentences):
        own = [(e.start, e.before, e.after) for e in edits if e.where == f"sentences[{number}]"]
        body += pieces(sentence, own)
    changed = any(kind != "same" for kind, _ in (*title, *body))
    return {"id": passage.id, "title": title, "text": _joined(body), "changed": changed}


def pieces(text: str, edits: Sequence[tuple[int, str, str]]) -> list[list[str]]:
    """An edited text as runs of what stayed, went out and came in.

    Args:
        text: After the edits.
        edits: ``(start, before, after)``, offsets in the text before the edits.

    Returns:
        ``[kind, text]`` in reading order; one run ``same`` if the text does not hold the edits (it is another
        near-copy, untouched).
    """
    runs: list[list[str]] = []
    at = shift = 0
    for start, before, after in sorted(edits):
        begin = start + shift
        if begin < at or text[begin : begin + len(after)] != after:
            return [["same", text]] if text else []
        runs += [["same", text[at:begin]], ["out", before], ["in", after]]
        at, shift = begin + len(after), shift + len(after) - len(before)
    return [run for run in (*runs, ["same", text[at:]]) if run[1]]


def _joined(runs: Sequence[list[str]]) -> list[list[str]]:
    out: list[list[str]] = []
    for kind, text in runs:
        if out and out[-1][0] == kind == "same":
            out[-1][1] += text
        else:
            out.append([kind, text])
    return out


def _at_stage(scores: StageScores, verdicts: Verdicts, row: int, stage: int) -> Record:
    if stage >= scores.stages or not scores.present[row, stage]:
        return {}
    names = ("sfv", "csct", "cpm")
    return {
        **{name: _number(verdicts.signals[row, stage, i]) for i, name in enumerate(names)},
        "p": _number(verdicts.p[row, stage]),
        "flagged": bool(verdicts.flagged[row, stage]),
        "scores": {
            "entailment by first passage": _number(scores.top1[row, stage, 0]),
            "entailment by consensus": _number(scores.consensus[row, stage, 0]),
            "contradiction by consensus": _number(scores.consensus[row, stage, 2]),
            "drift from stage before": _number(1.0 - scores.similarity_previous[row, stage]),
            "calibrated confidence": _number(verdicts.confidence[row, stage]),
        },
    }


def _certificate(certificate: Certificate | None) -> Record | None:
    if certificate is None:
        return None
    kept = asdict(certificate)
    kept["edits"] = [asdict(edit) for edit in certificate.edits]
    return kept


def _named(case: Record, said: _Said, setting: str, t: Trajectory) -> str:
    """For a case of paper 2: whether any diagnoser named the hop."""
    if not case:
        return "clean" if t.certificate is None else "not diagnosed"
    if case.get("recovered"):
        return "recovered"
    hops = [s.get("said_hop") for s in said.said.get((setting, t.id), [])]
    right = sum(hop == case.get("depth") for hop in hops)
    return f"hop named by {'none' if not right else 'all' if right == len(hops) else 'some'}"


def _outcome(right: Any) -> str:
    return "not judged" if right is None else "right" if right else "wrong"


def _accepted(outcome: Mapping[str, Any]) -> list[str]:
    return [str(answer) for answer in orjson.loads(outcome["answers"])] if "answers" in outcome else []


def _number(value: Any) -> float | None:
    number = float(value)
    return None if math.isnan(number) or math.isinf(number) else round(number, 4)


def _plain(table: pd.DataFrame) -> list[Record]:
    """Records of plain values, None for missing."""
    plain = table.astype(object).where(table.notna(), None)
    return [
        {str(k): v.item() if isinstance(v, np.generic) else v for k, v in record.items()}
        for record in plain.to_dict("records")
    ]

"""Review chains of a run (paper 3) as the viewer shows trajectories: three stages, their envelopes and KPIs.

Reads the run's tables ``responses_<arm>`` (a row a prompt and stage) and ``scores_<arm>_<instrument>``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from faultline.agents.envelopes import StageMessage, unpack
from faultline.agents.review_chain import AGENTS, NEXT
from faultline.judges.kpi_instrument import KPIS
from faultline.reporting.saved_run import SavedRun

Record = dict[str, Any]
COLUMNS = frozenset(("promptid", "subset", "prompt", "stage", "text", "envelope", "hit", "missing"))


def views(run: SavedRun) -> Iterator[Record]:
    """One record a prompt and arm, in the order of the tables; nothing for a run without chains."""
    for arm, table in _arms(run):
        scores = _scores(run, arm)
        backbone = str(run.results["backbone"].iloc[0]) if len(run.results) else ""
        dataset = str(run.results["dataset"].iloc[0]) if len(run.results) else ""
        for name, part in table.groupby("promptid", sort=False):
            yield _view(run, arm, str(name), part, scores, (dataset, backbone))


def count(run: SavedRun) -> int:
    """How many :func:`views` gives."""
    return sum(table["promptid"].nunique() for _, table in _arms(run))


def _arms(run: SavedRun) -> Iterator[tuple[str, pd.DataFrame]]:
    for stem in run.tables():
        if stem.startswith("responses_"):
            table = run.table(stem)
            if table is not None and set(table.columns) >= COLUMNS:
                yield stem.removeprefix("responses_"), table


def _scores(run: SavedRun, arm: str) -> dict[tuple[str, str], dict[str, float | None]]:
    """KPIs of each prompt and stage under each instrument, of its first repeat."""
    found: dict[tuple[str, str], dict[str, float | None]] = {}
    start = f"scores_{arm}_"
    for stem in run.tables():
        table = run.table(stem) if stem.startswith(start) else None
        if table is None:
            continue
        instrument = stem.removeprefix(start)
        for record in table[table["repeat"] == table["repeat"].min()].to_dict("records"):
            kept = found.setdefault((str(record["promptid"]), str(record["stage"])), {})
            for kpi in KPIS:
                kept[f"{kpi} ({instrument})"] = None if pd.isna(record[kpi]) else round(float(record[kpi]), 4)
    return found


def _view(
    run: SavedRun,
    arm: str,
    name: str,
    part: pd.DataFrame,
    scores: dict[tuple[str, str], dict[str, float | None]],
    source: tuple[str, str],
) -> Record:
    rows: list[Record] = [{str(k): v for k, v in row.items()} for row in part.to_dict("records")]
    last = rows[-1]
    missing = str(last["missing"] or "")
    return {
        "id": f"{arm}/{name}",
        "run": run.name,
        "dataset": source[0],
        "task": name,
        "condition": f"chain={arm}; {rows[0]['subset']}",
        "fault": "none",
        "scope": "none",
        "injected": 0,
        "question": str(rows[0]["prompt"]),
        "answer": None if missing else str(last["text"]),
        "missing": missing,
        "backbone": source[1],
        "accepted": [],
        "outcome": "no answer" if missing else "not judged",
        "certificate": None,
        "stages": [_stage(row, scores.get((name, str(row["stage"])), {})) for row in rows],
        "said": [],
        "envelopes": [_envelope(row) for row in rows if row["envelope"]],
        "case": {},
        "caught": "no monitor",
    }


def _stage(row: Record, kpis: dict[str, float | None]) -> Record:
    return {
        "kind": f"{row['stage']} stage",
        "text": str(row["text"] or ""),
        "query": "",
        "value": None,
        "confidence": None,
        "source": "none",
        "missing": str(row["missing"] or ""),
        "hits": [],
        "scores": kpis,
    }


def _envelope(row: Record) -> Record:
    said, stage = unpack(str(row["envelope"])), str(row["stage"])
    read = isinstance(said, StageMessage)
    notes = ("from memory" if row["hit"] else "", "" if read else "envelope cannot be read")
    whispered = (said.whisper_context, said.whisper_value) if isinstance(said, StageMessage) else ()
    return {
        "from": AGENTS.get(stage, stage),
        "to": NEXT.get(stage, ""),
        "text": said.utterance if isinstance(said, StageMessage) else str(row["text"] or ""),
        "whisper": "\n".join(text for text in whispered if text),
        "note": "; ".join(note for note in notes if note),
        "raw": str(row["envelope"]),
    }

"""The released records of paper 2's content-fault study: an error names the file, record and field.

``FAULTLINE_DATA_DIR/fp_release`` holds one JSON file a condition (backbone, data set). Each lists, by depth
of the injected fault, the failed cases with every diagnoser's prediction (stage, hop, tokens), and the
recovered cases. Retrieved documents and sub-queries are not released.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from faultline.errors import DataError

FOLDER = "fp_release"
CONDITIONS: Mapping[tuple[str, str], str] = {
    (backbone, dataset): f"identifiability_{provider}_{backbone}_{dataset}_bm25_corruption.json"
    for provider, backbone in (("claude", "claude-haiku-4-5"), ("openai", "gpt-4o-mini"))
    for dataset in ("hotpotqa", "musique")
}
"""(backbone, data set) to file."""
DIAGNOSERS: Mapping[str, str] = {
    "rule_based": "rule_based",
    "doctor_rag": "jaccard_gate",
    "llm_judge": "llm_judge",
    "propagation_aware": "propagation_aware",
    "suffix_regen": "suffix_regen",
}
"""Released name to ours: what the release calls doctor_rag is the gold-token Jaccard gate."""
DEPTHS = (1, 2, 3)
STRATEGIES = ("answer_fact", "bridge_entity", "salient_entity")
LABELS = ("absorbed", "resisted", "derailed")
STAGES = ("retrieval", "tool", "answer_generation", "none")

_FIELDS: Mapping[str, type] = {
    "sample_id": str,
    "question": str,
    "reference_answer": str,
    "final_answer": str,
    "actual_hop": int,
    "requested_depth": int,
    "base_hop_count": int,
    "iterations_used": int,
    "base_correct": bool,
    "final_correct": bool,
    "recovered": bool,
    "corrupted_span": str,
    "strategy": str,
    "absorption": str,
    "query_contaminated": bool,
}


@dataclass(frozen=True, slots=True)
class Release:
    """The content-fault study.

    Attributes:
        cases: One row an injected case: ``backbone``, ``dataset``, ``depth``, the released fields, ``suffix``
            (hops after the fault), and, for failed cases, ``<diagnoser>_stage``, ``_hop``, ``_tokens``.
        skipped: By (backbone, data set, depth): base cases that were not injected, by reason.
    """

    cases: pd.DataFrame
    skipped: Mapping[tuple[str, str, int], Mapping[str, int]]


def load(data_dir: Path) -> Release:
    """Read and check the four conditions.

    Raises:
        DataError: A file, record or field that is not as documented, or counts that do not add up.
    """
    folder = data_dir / FOLDER
    if not folder.is_dir():
        raise DataError(f"{folder}: not there; run `python -m experiments.fetch {FOLDER}`")
    records: list[dict[str, Any]] = []
    skipped: dict[tuple[str, str, int], Mapping[str, int]] = {}
    for (backbone, dataset), name in CONDITIONS.items():
        path = folder / name
        content = _json(path)
        for depth in DEPTHS:
            part = _part(content, depth, path)
            rows = list(_cases(part, depth, path))
            _counts(content, part, depth, rows, path)
            skipped[backbone, dataset, depth] = {
                reason: int(part[f"n_skipped_{reason}"])
                for reason in ("short_trace", "base_incorrect", "no_span")
            }
            records += [{"backbone": backbone, "dataset": dataset, "depth": depth, **row} for row in rows]
    cases = pd.DataFrame.from_records(records)
    cases["suffix"] = cases["iterations_used"] - cases["depth"]
    return Release(cases, skipped)


def failed(cases: pd.DataFrame) -> pd.DataFrame:
    """The cases that a diagnosis is scored on."""
    return cases.loc[~cases["recovered"]]


def _cases(part: Mapping[str, Any], depth: int, path: Path) -> Iterator[dict[str, Any]]:
    predictions = part["predictions"]
    if set(predictions) != set(DIAGNOSERS):
        raise DataError(
            f"{path}: depth {depth}: diagnosers {sorted(predictions)}, expected {sorted(DIAGNOSERS)}"
        )
    seen: set[str] = set()
    for group, recovered in (("metadata", False), ("recovered_metadata", True)):
        for i, record in enumerate(part[group]):
            where = f"{path}: depth {depth}: {group}[{i}]"
            row = _fields(record, where)
            _check(row, depth, recovered, where)
            if row["sample_id"] in seen:
                raise DataError(f"{where}: sample_id {row['sample_id']} occurs twice at this depth")
            seen.add(row["sample_id"])
            if not recovered:
                row.update(_predictions(part, i, where))
            yield row


def _fields(record: Any, where: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise DataError(f"{where}: not a record")
    row = {}
    for name, kind in _FIELDS.items():
        if not isinstance(record.get(name), kind):
            raise DataError(f"{where}: field {name} is {record.get(name)!r}, expected {kind.__name__}")
        row[name] = record[name]
    return row


def _check(row: Mapping[str, Any], depth: int, recovered: bool, where: str) -> None:
    if row["actual_hop"] != depth or row["requested_depth"] != depth:
        raise DataError(
            f"{where}: the fault is at hop {row['actual_hop']}, not at depth {depth}; a clamped case"
        )
    if row["recovered"] is not recovered or row["final_correct"] is not recovered:
        raise DataError(f"{where}: recovered is {row['recovered']}, in the list of the other cases")
    if row["absorption"] not in LABELS:
        raise DataError(f"{where}: absorption is {row['absorption']!r}, expected one of {LABELS}")
    if row["strategy"] not in STRATEGIES:
        raise DataError(f"{where}: strategy is {row['strategy']!r}, expected one of {STRATEGIES}")
    if row["iterations_used"] < depth:
        raise DataError(f"{where}: iterations_used is {row['iterations_used']}, below the hop of the fault")


def _predictions(part: Mapping[str, Any], i: int, where: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for released, name in DIAGNOSERS.items():
        values = part["predictions"][released]
        if len(values) != len(part["metadata"]):
            raise DataError(f"{where}: {released} has {len(values)} predictions of {len(part['metadata'])}")
        stage, hop, tokens = values[i]
        if stage not in STAGES or not isinstance(hop, int) or hop < 0 or tokens < 0:
            raise DataError(f"{where}: {released} predicts {values[i]!r}, expected [stage, hop >= 0, tokens]")
        out |= {f"{name}_stage": stage, f"{name}_hop": hop, f"{name}_tokens": float(tokens)}
    return out


def _counts(
    content: Mapping[str, Any], part: Mapping[str, Any], depth: int, rows: list[dict[str, Any]], path: Path
) -> None:
    found = {
        "n_total_by_depth": len(rows),
        "n_failed_by_depth": sum(not row["recovered"] for row in rows),
    }
    for name, n in found.items():
        if content[name][str(depth)] != n:
            raise DataError(f"{path}: {name}[{depth}] is {content[name][str(depth)]}, the records are {n}")
    if [hop for _, hop in part["truth"]] != [depth] * found["n_failed_by_depth"]:
        raise DataError(f"{path}: depth {depth}: truth is not hop {depth} for every failed case")


def _part(content: Mapping[str, Any], depth: int, path: Path) -> Mapping[str, Any]:
    try:
        part = content["raw_by_depth"][str(depth)]
        expected = ("truth", "predictions", "metadata", "recovered_metadata", "n_skipped_short_trace")
        missing = [name for name in expected if name not in part]
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: no raw_by_depth[{depth}]; fetch the pinned revision again") from error
    if missing:
        raise DataError(f"{path}: raw_by_depth[{depth}] lacks {missing}; fetch the pinned revision again")
    return part  # type: ignore[no-any-return]


def _json(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise DataError(f"{path}: not there; run `python -m experiments.fetch {FOLDER}`")
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise DataError(f"{path}: not JSON ({error}); fetch it again") from error
    if not isinstance(content, dict):
        raise DataError(f"{path}: not a JSON object; fetch it again")
    return content

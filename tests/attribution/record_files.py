"""A small release of content-fault records in the published layout."""

from __future__ import annotations

import json
from pathlib import Path

from faultline.attribution import release


def record(sample: str, depth: int, recovered: bool, **more: object) -> dict[str, object]:
    """One injected case."""
    return {
        "sample_id": sample,
        "question": "q?",
        "reference_answer": "gold",
        "final_answer": "gold" if recovered else "wrong",
        "actual_hop": depth,
        "requested_depth": depth,
        "base_hop_count": depth,
        "iterations_used": depth + 1,
        "base_correct": True,
        "final_correct": recovered,
        "recovered": recovered,
        "corrupted_span": "wrong",
        "strategy": "answer_fact",
        "absorption": "resisted" if recovered else "absorbed",
        "query_contaminated": False,
        **more,
    }


def content() -> dict[str, object]:
    """Two failed and one recovered case at every depth; each diagnoser names hop 1."""
    parts, total, lost = {}, {}, {}
    for depth in release.DEPTHS:
        failed = [record(f"a{depth}", depth, recovered=False), record(f"b{depth}", depth, recovered=False)]
        parts[str(depth)] = {
            "truth": [["retrieval", depth]] * 2,
            "predictions": {name: [["retrieval", 1, 10], ["none", 0, 5]] for name in release.DIAGNOSERS},
            "metadata": failed,
            "recovered_metadata": [record(f"c{depth}", depth, recovered=True)],
            "n_skipped_short_trace": 4,
            "n_skipped_base_incorrect": 3,
            "n_skipped_no_span": 0,
        }
        total[str(depth)], lost[str(depth)] = 3, 2
    return {"n_total_by_depth": total, "n_failed_by_depth": lost, "raw_by_depth": parts}


def write(folder: Path, **edited: dict[str, object]) -> Path:
    """Write four conditions; ``edited`` replaces the content of one by data set of the first backbone."""
    home = folder / release.FOLDER
    home.mkdir()
    for (backbone, dataset), name in release.CONDITIONS.items():
        body = edited.get(dataset, content()) if backbone == "gpt-4o-mini" else content()
        (home / name).write_text(json.dumps(body))
    return folder

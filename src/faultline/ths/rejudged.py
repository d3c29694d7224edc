"""Section 8.2 of paper 3: the same 930 texts scored by other judges, beside the human labels.

Five configurations: ``l-orig`` (the paper's evaluator), ``l-spec``, ``g-spec``, ``q-spec`` (the common
instrument), and ``g-orig``, which is released and in none of the paper's tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from faultline.results import Row
from faultline.ths import alignment
from faultline.ths.release import CODERS, JUDGED, STAGES, Release, in_subset
from faultline.ths.rows import count, row
from faultline.ths.tables import ALL_SUBSETS, STEPS

PRINTED_JUDGES = ("l-orig", "l-spec", "g-spec", "q-spec")
COMMON = PRINTED_JUDGES[1:]
Scores = Mapping[str, pd.DataFrame]


def compute(release: Release) -> Iterator[Row]:
    """All rows of this file."""
    scores = judge_scores(release)
    yield from correlations(release.labels, scores)
    yield from gains(release.labels, scores)
    yield from means_by_code(release.labels, scores)
    for subset in ALL_SUBSETS:
        yield from changes(in_subset(release.kpis, subset), scores, subset)
    yield from fcd_spread(release.kpis, scores)
    yield from replies(release)
    yield from repeated_texts(release.kpis, scores)


def judge_scores(release: Release) -> Scores:
    """Configuration to a frame by prompt with columns (KPI, stage), NaN where the judge failed."""
    own = release.kpis.set_index("promptid")[[f"{s}_{k}" for k in JUDGED for s in STAGES]]
    own.columns = pd.MultiIndex.from_tuples([(k, s) for k in JUDGED for s in STAGES])
    wide = {
        name: table.pivot_table(index="promptid", columns="stage", values=list(JUDGED), dropna=False)
        for name, table in release.judges.items()
    }
    return {"l-orig": own, **wide}


def correlations(labels: pd.DataFrame, scores: Scores) -> Iterator[Row]:
    """Table 8 for every KPI: Spearman of third-stage scores with the resolved label and with each coder."""
    for judge, frame in scores.items():
        for kpi in JUDGED:
            values = _third(frame, kpi, labels)
            for source in ("final", *CODERS):
                found = alignment.spearman(values, labels[source].to_numpy())
                missing = len(values) - found.n
                note = "undefined: constant" if found.rho is None else _failed(missing)
                more: dict[str, Any] = {"n_missing": missing, "note": note}
                against = "resolved" if source == "final" else f"coder{source}"
                at = f"against={against};kpi={kpi};subset=stress"
                yield row("table8", "spearman", judge, at, found.rho, found.n, **more)
                yield row("section8.2", "spearman_p", judge, at, found.p, found.n, unit="p", **more)


def gains(labels: pd.DataFrame, scores: Scores) -> Iterator[Row]:
    """Rank correlation that the instrument adds at fixed weights, and the model at a fixed instrument.

    Both paths through the two-by-two: the paper prints one, the unreported ``g-orig`` gives the other (n=87).
    """
    codes = labels["final"].to_numpy()
    rho = {judge: alignment.spearman(_third(scores[judge], "ECS", labels), codes).rho for judge in scores}
    for metric, a, b in (
        ("instrument_gain", "l-orig", "l-spec"),
        ("model_gain", "l-spec", "g-spec"),
        ("model_gain", "l-orig", "g-orig"),
        ("instrument_gain", "g-orig", "g-spec"),
    ):
        before, after = rho[a], rho[b]
        gain = None if before is None or after is None else before - after
        yield row("section8.2", metric, f"{a}:{b}", "subset=stress", gain, len(labels))


def means_by_code(labels: pd.DataFrame, scores: Scores) -> Iterator[Row]:
    """Table 8: mean third-stage score by resolved code, every KPI and configuration."""
    codes = labels["final"].to_numpy()
    for judge, frame in scores.items():
        for kpi in JUDGED:
            for code, (mean, n) in alignment.mean_by_code(_third(frame, kpi, labels), codes).items():
                at = f"code={code};kpi={kpi};subset=stress"
                yield row("table8", "mean_by_code", judge, at, mean, n)


def changes(kpis: pd.DataFrame, scores: Scores, subset: str) -> Iterator[Row]:
    """Table 9: change of each mean KPI by step and configuration, over the prompts of ``kpis``."""
    for judge, frame in scores.items():
        part = frame.reindex(kpis["promptid"])
        for kpi in JUDGED:
            for step, (start, end) in STEPS.items():
                change = (part[(kpi, end)] - part[(kpi, start)]).dropna()
                missing = len(part) - len(change)
                more: dict[str, Any] = {"n_missing": missing, "note": _failed(missing)}
                value = float(change.mean()) if len(change) else None
                at = f"kpi={kpi};step={step};subset={subset}"
                yield row("table9", "judge_change", judge, at, value, len(change), **more)


def fcd_spread(kpis: pd.DataFrame, scores: Scores) -> Iterator[Row]:
    """Section 8.2: the largest over the smallest FCD change among the four printed configurations."""
    sizes = []
    for judge in PRINTED_JUDGES:
        frame = scores[judge]
        sizes.append(abs(float((frame[("FCD", "third")] - frame[("FCD", "front")]).mean())))
    ratio = max(sizes) / min(sizes) if min(sizes) else None
    yield row("section8.2", "fcd_spread", "all", "subset=all", ratio, len(kpis), unit="ratio")


def replies(release: Release) -> Iterator[Row]:
    """Calls, failures, repeats and weight digests of each judge, and of the common instrument together."""
    table = "section8.2"
    for judge, calls in release.judges.items():
        failed = calls.loc[calls["ECS"].isna(), "promptid"].nunique()
        yield count(table, "judge_calls", judge, "", len(calls), len(calls))
        yield count(table, "failed_prompts", judge, "", failed, calls["promptid"].nunique())
        yield count(table, "repeated_calls", judge, "", (calls["attempts"] > 1).sum(), len(calls))
        yield count(table, "digests", judge, "", calls["digest"].nunique(), len(calls))
    common = pd.concat([release.judges[judge] for judge in COMMON])
    yield count(table, "judge_calls", "common", "", len(common), len(common))
    yield count(table, "failed_calls", "common", "", common["ECS"].isna().sum(), len(common))


def repeated_texts(kpis: pd.DataFrame, scores: Scores) -> Iterator[Row]:
    """Groups of byte-identical third-stage texts, and in how many a judge's ECS differs within the group."""
    texts = kpis["third_sha256_12"].to_numpy()
    for judge, frame in scores.items():
        third = frame[("ECS", "third")].to_numpy(dtype=np.float64)
        there = ~np.isnan(third)
        apart, groups = alignment.inconsistent_groups(third[there], texts[there])
        at = "stage=third"
        yield count("section8.2", "duplicates_scored_apart", judge, at, apart, groups)
        yield count("section8.2", "duplicate_groups", judge, at, groups, groups)


def _third(
    frame: pd.DataFrame, kpi: str, labels: pd.DataFrame
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return frame[(kpi, "third")].reindex(labels["promptid"]).to_numpy(dtype=np.float64)


def _failed(missing: int) -> str:
    return f"missing: parse_error={missing}" if missing else ""

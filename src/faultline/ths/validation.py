"""Section 8 of paper 3: the human labels, and four judge configurations (with the unreported fifth) beside them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from faultline.annotation import agreement
from faultline.results import Row
from faultline.stats import generator, worst_case
from faultline.ths import alignment
from faultline.ths.release import CODERS, JUDGED, STAGES, Release, in_subset
from faultline.ths.rows import row
from faultline.ths.tables import ALL_SUBSETS, STEPS

GROUPS = {"endorse": agreement.ENDORSING, "refute": agreement.REFUTING, "silent": (agreement.SILENT,)}


def compute(release: Release) -> Iterator[Row]:
    """All rows of this file."""
    scores = judge_scores(release)
    yield from coding(release)
    yield from agreement_rows(release.labels)
    yield from ecs_by_label(release.labels)
    yield from judges_against_labels(release.labels, scores)
    yield from judge_changes(release.kpis, scores)
    yield from judge_replies(release, scores)


def judge_scores(release: Release) -> dict[str, pd.DataFrame]:
    """Configuration to a frame by prompt with columns (KPI, stage); ``l-orig`` is the paper's own evaluator."""
    own = release.kpis.set_index("promptid")[[f"{s}_{k}" for k in JUDGED for s in STAGES]]
    own.columns = pd.MultiIndex.from_tuples([(k, s) for k in JUDGED for s in STAGES])
    pivoted = {
        name: table.pivot_table(index="promptid", columns="stage", values=list(JUDGED), dropna=False)
        for name, table in release.judges.items()
    }
    return {"l-orig": own, **pivoted}


def coding(release: Release) -> Iterator[Row]:
    """Endorsement, non-endorsement and silence, resolved and by coder; Wilson and text-clustered intervals."""
    labels = release.labels
    codes = labels[list(CODERS)].to_numpy()
    sources = {
        "resolved": labels["final"].to_numpy(),
        "majority": agreement.resolve(codes, "none"),
        **{f"coder{name}": labels[name].to_numpy() for name in CODERS},
    }
    texts = release.kpis.set_index("promptid")["third_sha256_12"].reindex(labels["promptid"]).tolist()
    for system, values in sources.items():
        known = values[values != agreement.UNRESOLVED]
        missing = len(values) - len(known)
        for group, members in GROUPS.items():
            share = agreement.rate(known, members)
            bounds = worst_case(int(np.isin(known, members).sum()), len(known), missing)
            note = f"missing: undefined={missing}; worst case {bounds[0]:.4f}-{bounds[1]:.4f}" if missing and bounds else ""
            yield row(
                "section8.1", f"{group}_rate", system, "interval=wilson;subset=stress", share.value, share.n,
                unit="rate", low=share.low, high=share.high, n_missing=missing, note=note,
            )  # fmt: skip
            count = float(np.isin(known, members).sum())
            yield row(
                "section8.1", f"{group}_count", system, "subset=stress", count, share.n,
                unit="count", n_missing=missing, note=note,
            )  # fmt: skip
    drawn = agreement.clustered_rate(sources["resolved"], agreement.ENDORSING, texts, generator("endorse", "texts"))
    yield row(
        "section8.1", "endorse_rate", "resolved", "interval=text_clustered;subset=stress", drawn.value, drawn.n,
        unit="rate", low=drawn.low, high=drawn.high, note="BCa, whole groups of identical text resampled",
    )  # fmt: skip
    yield row("section8.1", "distinct_texts", "all", "subset=stress", float(len(set(texts))), len(texts), unit="count")


def agreement_rows(labels: pd.DataFrame) -> Iterator[Row]:
    """Krippendorff's ordinal alpha of all coders and of each pair, and the items without a majority."""
    codes = labels[list(CODERS)].to_numpy()
    where, n = "subset=stress", len(codes)
    yield row("section8.1", "alpha", "A-B-C", where, agreement.alpha(codes), n)
    for pair, value in agreement.pairwise_alpha(codes, CODERS).items():
        yield row("section8.1", "alpha", pair, where, value, n)
    open_items = agreement.ties(codes)
    endorsed = np.isin(agreement.resolve(codes, "median"), agreement.ENDORSING)
    yield row("section8.1", "three_way_ties", "all", where, float(open_items.sum()), n, unit="count")
    yield row("section8.1", "three_way_ties", "endorse", where, float((open_items & endorsed).sum()), n, unit="count")
    changed = agreement.resolve(codes, "median") != labels["final"].to_numpy()
    yield row("section8.1", "differs_from_released", "median", where, float(changed.sum()), n, unit="count")


def ecs_by_label(labels: pd.DataFrame) -> Iterator[Row]:
    """Mean final ECS by code, the endorsement gap (resolved and by coder), and how many score exactly one."""
    ecs, where = labels["ECS"].to_numpy(dtype=np.float64), "subset=stress"
    for source in ("final", *CODERS):
        codes = labels[source].to_numpy()
        system = "resolved" if source == "final" else f"coder{source}"
        gap = alignment.endorsement_gap(ecs, codes, agreement.ENDORSING, agreement.REFUTING)
        yield row("section8.1", "ecs_gap", system, where, gap, len(ecs))
    full = ecs == 1.0
    endorsed = labels["final"].isin(agreement.ENDORSING).to_numpy()
    yield row("section8.1", "ecs_is_one", "all", where, float(full.sum()), len(ecs), unit="count")
    yield row("section8.1", "ecs_is_one", "endorse", where, float((full & endorsed).sum()), int(endorsed.sum()), unit="count")


def judges_against_labels(labels: pd.DataFrame, scores: dict[str, pd.DataFrame]) -> Iterator[Row]:
    """Table 8, for every KPI: Spearman with the resolved label and each coder, and the mean by code."""
    where = "subset=stress"
    rho: dict[str, float | None] = {}
    for judge, frame in scores.items():
        for kpi in JUDGED:
            values = frame[(kpi, "third")].reindex(labels["promptid"]).to_numpy(dtype=np.float64)
            for source in ("final", *CODERS):
                found = alignment.spearman(values, labels[source].to_numpy())
                against = "resolved" if source == "final" else f"coder{source}"
                missing = len(values) - found.n
                note = "undefined: constant" if found.rho is None else (f"missing: parse_error={missing}" if missing else "")
                at = f"against={against};kpi={kpi};{where}"
                yield row("table8", "spearman", judge, at, found.rho, found.n, n_missing=missing, note=note)
                yield row("section8.2", "spearman_p", judge, at, found.p, found.n, unit="p", n_missing=missing, note=note)
                if kpi == "ECS" and source == "final":
                    rho[judge] = found.rho
            for code, (mean, n) in alignment.mean_by_code(values, labels["final"].to_numpy()).items():
                yield row("table8", "mean_by_code", judge, f"code={code};kpi={kpi};{where}", mean, n)
    for metric, (a, b) in {"instrument_gain": ("l-orig", "l-spec"), "model_gain": ("l-spec", "g-spec")}.items():
        first, second = rho[a], rho[b]
        gain = None if first is None or second is None else first - second
        yield row("section8.2", metric, f"{a}:{b}", where, gain, len(labels))


def judge_changes(kpis: pd.DataFrame, scores: dict[str, pd.DataFrame]) -> Iterator[Row]:
    """Table 9: change of each mean KPI by step and configuration, all prompts and each subset."""
    for subset in ALL_SUBSETS:
        prompts = in_subset(kpis, subset)["promptid"]
        for judge, frame in scores.items():
            part = frame.reindex(prompts)
            for kpi in JUDGED:
                for step, (start, end) in STEPS.items():
                    change = (part[(kpi, end)] - part[(kpi, start)]).dropna()
                    missing = len(part) - len(change)
                    note = f"missing: parse_error={missing}" if missing else ""
                    value = float(change.mean()) if len(change) else None
                    at = f"kpi={kpi};step={step};subset={subset}"
                    yield row("table9", "judge_change", judge, at, value, len(change), n_missing=missing, note=note)
    change_of = {judge: float((f[("FCD", "third")] - f[("FCD", "front")]).mean()) for judge, f in scores.items()}
    sizes = [abs(change_of[judge]) for judge in ("l-orig", "l-spec", "g-spec", "q-spec")]
    yield row("section8.2", "fcd_spread", "all", "subset=all", max(sizes) / min(sizes), len(kpis), unit="ratio")


def judge_replies(release: Release, scores: dict[str, pd.DataFrame]) -> Iterator[Row]:
    """Calls, failures and repeats of each judge, and how often it scores identical text differently."""
    texts = release.kpis["third_sha256_12"].to_numpy()
    for judge, table in release.judges.items():
        failed = table.loc[table["ECS"].isna(), "promptid"].nunique()
        n = len(table)
        yield row("section8.2", "judge_calls", judge, "", float(n), n, unit="count")
        yield row("section8.2", "failed_prompts", judge, "", float(failed), table["promptid"].nunique(), unit="count")
        yield row("section8.2", "repeated_calls", judge, "", float((table["attempts"] > 1).sum()), n, unit="count")
        yield row("section8.2", "digests", judge, "", float(table["digest"].nunique()), n, unit="count")
    common = [release.judges[judge] for judge in ("l-spec", "g-spec", "q-spec")]
    calls = sum(len(table) for table in common)
    failures = sum(int(table["ECS"].isna().sum()) for table in common)
    yield row("section8.2", "judge_calls", "common", "", float(calls), calls, unit="count")
    yield row("section8.2", "failed_calls", "common", "", float(failures), calls, unit="count")
    for judge, frame in scores.items():
        third = frame[("ECS", "third")].to_numpy(dtype=np.float64)
        there = ~np.isnan(third)
        differ, groups = alignment.inconsistent_groups(third[there], texts[there])
        yield row("section8.2", "duplicates_scored_apart", judge, "stage=third", float(differ), groups, unit="count")
        yield row("section8.2", "duplicate_groups", judge, "stage=third", float(groups), groups, unit="count")

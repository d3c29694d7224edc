"""Section 8.1 of paper 3: what three coders say about the 93 final responses, and how ECS follows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from faultline.annotation import agreement
from faultline.results import Row
from faultline.stats import generator, worst_case
from faultline.ths import alignment
from faultline.ths.release import CODERS, Release
from faultline.ths.rows import count, row

TABLE = "section8.1"
WHERE = "subset=stress"
GROUPS = {"endorse": agreement.ENDORSING, "refute": agreement.REFUTING, "silent": (agreement.SILENT,)}


def compute(release: Release) -> Iterator[Row]:
    """All rows of this file."""
    yield from rates(release.labels)
    yield from clustered(release)
    yield from reliability(release.labels)
    yield from ecs_by_label(release.labels)


def rates(labels: pd.DataFrame) -> Iterator[Row]:
    """Endorsement, non-endorsement and silence: resolved, by strict majority, by coder; Wilson intervals.

    ``resolved`` settles three-way ties by the median, as the release does; ``majority`` leaves them out.
    """
    codes = labels[list(CODERS)].to_numpy()
    sources = {
        "resolved": labels["final"].to_numpy(),
        "majority": agreement.resolve(codes, "none"),
        **{f"coder{name}": labels[name].to_numpy() for name in CODERS},
    }
    for system, values in sources.items():
        known = values[values != agreement.UNRESOLVED]
        missing = len(values) - len(known)
        for group, members in GROUPS.items():
            share = agreement.rate(known, members)
            k = int(np.isin(known, members).sum())
            more: dict[str, Any] = {"n_missing": missing, "note": _tie_note(k, share.n, missing)}
            at = f"interval=wilson;{WHERE}"
            more_rate: dict[str, Any] = {**more, "unit": "rate", "low": share.low, "high": share.high}
            yield row(TABLE, f"{group}_rate", system, at, share.value, share.n, **more_rate)
            yield count(TABLE, f"{group}_count", system, WHERE, k, share.n, **more)


def clustered(release: Release) -> Iterator[Row]:
    """Endorsement with groups of identical text resampled together, and how many texts there are."""
    labels = release.labels
    texts = release.kpis.set_index("promptid")["third_sha256_12"].reindex(labels["promptid"]).tolist()
    rng = generator("endorse", "texts")
    drawn = agreement.clustered_rate(labels["final"].to_numpy(), agreement.ENDORSING, texts, rng)
    at = f"interval=text_clustered;{WHERE}"
    more: dict[str, Any] = {
        "unit": "rate",
        "low": drawn.low,
        "high": drawn.high,
        "note": "BCa over groups of identical text",
    }
    yield row(TABLE, "endorse_rate", "resolved", at, drawn.value, drawn.n, **more)
    yield count(TABLE, "distinct_texts", "all", WHERE, len(set(texts)), len(texts))
    wide = [drawn.low, drawn.high]
    wilson = agreement.rate(labels["final"].to_numpy(), agreement.ENDORSING)
    known = None not in (*wide, wilson.low, wilson.high)
    ratio = (wide[1] - wide[0]) / (wilson.high - wilson.low) if known else None  # type: ignore[operator]
    yield row(TABLE, "interval_width_ratio", "text_clustered:wilson", WHERE, ratio, drawn.n, unit="ratio")


def reliability(labels: pd.DataFrame) -> Iterator[Row]:
    """Krippendorff's ordinal alpha of all coders and of each pair, and the items without a majority."""
    codes = labels[list(CODERS)].to_numpy()
    n = len(codes)
    for pair, value in {"A-B-C": agreement.alpha(codes), **agreement.pairwise_alpha(codes, CODERS)}.items():
        yield row(TABLE, "alpha", pair, WHERE, value, n)
    median = agreement.resolve(codes, "median")
    tied = agreement.ties(codes)
    endorsed = np.isin(median, agreement.ENDORSING)
    yield count(TABLE, "three_way_ties", "all", WHERE, tied.sum(), n)
    yield count(TABLE, "three_way_ties", "endorse", WHERE, (tied & endorsed).sum(), n)
    differs = median != labels["final"].to_numpy()
    yield count(TABLE, "differs_from_released", "median", WHERE, differs.sum(), n)


def ecs_by_label(labels: pd.DataFrame) -> Iterator[Row]:
    """The endorsement gap in final ECS (resolved and by coder), and how many responses score exactly one."""
    ecs = labels["ECS"].to_numpy(dtype=np.float64)
    for source in ("final", *CODERS):
        system = "resolved" if source == "final" else f"coder{source}"
        codes = labels[source].to_numpy()
        gap = alignment.endorsement_gap(ecs, codes, agreement.ENDORSING, agreement.REFUTING)
        yield row(TABLE, "ecs_gap", system, WHERE, gap, len(ecs))
    full = ecs == 1.0
    endorsed = labels["final"].isin(agreement.ENDORSING).to_numpy()
    yield count(TABLE, "ecs_is_one", "all", WHERE, full.sum(), len(ecs))
    yield count(TABLE, "ecs_is_one", "endorse", WHERE, (full & endorsed).sum(), int(endorsed.sum()))


def _tie_note(k: int, n: int, missing: int) -> str:
    bounds = worst_case(k, n, missing)
    if not missing or bounds is None:
        return ""
    return f"missing: no_majority={missing}; worst case {bounds[0]:.4f} to {bounds[1]:.4f}"

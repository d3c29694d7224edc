"""Paper 2, Table 4 and recovery: what became of the injected content faults, and who was selected."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from faultline.attribution import outcomes
from faultline.attribution.release import CONDITIONS, DEPTHS, LABELS, STRATEGIES, Release
from faultline.attribution.rows import count, row
from faultline.attribution.table3 import POOLED, at_depth
from faultline.results import Row
from faultline.stats import wilson


def compute(release: Release) -> Iterator[Row]:
    """All rows of this file."""
    cases = release.cases
    for depth in (*DEPTHS, "all"):
        yield from shares(at_depth(cases, depth), POOLED, f"depth={depth}")
    for backbone, dataset in CONDITIONS:
        part = cases.loc[(cases["backbone"] == backbone) & (cases["dataset"] == dataset)]
        for depth in DEPTHS:
            yield from shares(at_depth(part, depth), dataset, f"agent={backbone};depth={depth}")
    yield from recovery_spread(cases)
    yield from strategies(cases)
    yield from contamination(cases)
    yield from selection(release)
    yield from relabelled(cases)


def shares(cases: pd.DataFrame, dataset: str, where: str) -> Iterator[Row]:
    """Injected cases, the share of each outcome, and recovery."""
    n = len(cases)
    yield count("table4", "injected", "all", dataset, where, n, n)
    for label in LABELS:
        k = int((cases["absorption"] == label).sum())
        yield row("table4", label, "all", dataset, where, wilson(k, n), n)
    recovered = int(cases["recovered"].sum())
    yield row("table4", "recovery", "all", dataset, where, wilson(recovered, n), n)


def recovery_spread(cases: pd.DataFrame) -> Iterator[Row]:
    """Lowest and highest recovery among cells of condition and depth: all, and those with ten cases."""
    cells = cases.groupby(["backbone", "dataset", "depth"])["recovered"].agg(["mean", "size"])
    for name, least in (("all", 1), ("n>=10", 10)):
        kept = cells.loc[cells["size"] >= least, "mean"]
        for metric, value in (("recovery_lowest", kept.min()), ("recovery_highest", kept.max())):
            yield row("table4", metric, "all", POOLED, f"cells={name}", float(value), len(kept))


def strategies(cases: pd.DataFrame) -> Iterator[Row]:
    """How many faults change which fact, and how many of each are absorbed."""
    absorbed = cases["absorption"] == "absorbed"
    yield count("strategies", "absorbed_count", "all", POOLED, "", absorbed.sum(), len(cases))
    for strategy in STRATEGIES:
        part = cases["strategy"] == strategy
        where = f"strategy={strategy}"
        yield count("strategies", "injected", "all", POOLED, where, part.sum(), len(cases))
        k = (part & absorbed).sum()
        yield count("strategies", "absorbed_count", "all", POOLED, where, k, int(part.sum()))


def contamination(cases: pd.DataFrame) -> Iterator[Row]:
    """Cases whose later query holds the changed span: of all, recovered, failed, and with a later query."""
    groups = {
        "all": cases,
        "recovered": cases.loc[cases["recovered"]],
        "failed": cases.loc[~cases["recovered"]],
        "later_query": cases.loc[cases["suffix"] > 0],
    }
    for name, part in groups.items():
        k, n = int(part["query_contaminated"].sum()), len(part)
        yield count("contamination", "contaminated", "all", POOLED, f"cases={name}", k, n)
        yield count("contamination", "cases", "all", POOLED, f"cases={name}", n, len(cases))
        yield row("contamination", "contaminated_rate", "all", POOLED, f"cases={name}", wilson(k, n), n)


def selection(release: Release) -> Iterator[Row]:
    """Base cases of each cell, and why some were not injected; questions and cases a question."""
    for (backbone, dataset, depth), skipped in release.skipped.items():
        part = at_depth(release.cases, depth)
        kept = int(((part["backbone"] == backbone) & (part["dataset"] == dataset)).sum())
        where = f"agent={backbone};depth={depth}"
        total = kept + sum(skipped.values())
        yield count("selection", "base_cases", "all", dataset, where, total, total)
        for reason, k in skipped.items():
            yield count("selection", f"skipped_{reason}", "all", dataset, where, k, total)
    questions = release.cases.groupby(["dataset", "sample_id"]).size()
    yield count("selection", "questions", "all", POOLED, "", len(questions), len(release.cases))
    yield count("selection", "most_cases_a_question", "all", POOLED, "", questions.max(), len(release.cases))


def relabelled(cases: pd.DataFrame) -> Iterator[Row]:
    """Released outcome labels that the documented rules give again from the released answers and spans."""
    ours = [
        outcomes.label(answer, gold, changed)
        for answer, gold, changed in zip(
            cases["final_answer"], cases["reference_answer"], cases["corrupted_span"], strict=True
        )
    ]
    same = int((cases["absorption"] == pd.Series(ours, index=cases.index)).sum())
    yield count("table4", "labels_agree", "all", POOLED, "", same, len(cases))

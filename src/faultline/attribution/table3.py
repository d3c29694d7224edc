"""Paper 2, Table 3 and its softer metrics from the released predictions, beside predictors that see nothing.

Pooled over the four conditions, by condition, and by the length of the suffix after the fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from faultline.attribution import localization as loc
from faultline.attribution.release import CONDITIONS, DEPTHS, DIAGNOSERS, STRATEGIES, failed
from faultline.attribution.rows import count, row
from faultline.results import Row
from faultline.stats import Estimate, FloatArray, bootstrap, generator, wilson

SYSTEMS = tuple(DIAGNOSERS.values())
CONSTANTS = (1, 2, 3)
RANDOM = "random_hop"
PROBES = ("propagation_aware", "suffix_regen")
POOLED = "all"
RESAMPLES = 2000


def compute(cases: pd.DataFrame) -> Iterator[Row]:
    """All rows of this file, from the checked cases."""
    lost = failed(cases)
    for depth in (*DEPTHS, "all", "2+"):
        part = at_depth(lost, depth)
        where = f"depth={depth}"
        yield count("table3", "failed", "all", POOLED, where, len(part), len(at_depth(cases, depth)))
        yield from exact_hop("table3", part, POOLED, where)
        yield from softer(part, where)
        yield from controls(part, where)
        yield from costs(part, where)
        yield from pairs(part, where)
    yield from by_condition(lost)
    yield from by_suffix(lost)
    yield from by_strategy(lost)
    yield from answers(lost)
    yield from not_possible(lost)


def at_depth(cases: pd.DataFrame, depth: int | str) -> pd.DataFrame:
    """The cases of a depth, of ``all`` depths, or of depth ``2+``."""
    if depth == "all":
        return cases
    return cases.loc[cases["depth"] >= 2] if depth == "2+" else cases.loc[cases["depth"] == depth]


def exact_hop(table: str, cases: pd.DataFrame, dataset: str, where: str) -> Iterator[Row]:
    """Exact-hop accuracy of each diagnoser, BCa interval over questions."""
    for system in SYSTEMS:
        hits = loc.exact(cases[f"{system}_hop"], cases["depth"])
        value = clustered(hits, cases, table, "exact", system, dataset, where)
        yield row(table, "exact_hop", system, dataset, where, value, len(cases), needs_gold=True)


def softer(cases: pd.DataFrame, where: str) -> Iterator[Row]:
    """Stage accuracy, error of at most one hop, ancestor hit, mean absolute hop error."""
    for system in SYSTEMS:
        hop, true = cases[f"{system}_hop"], cases["depth"]
        stage = loc.same_stage(cases[f"{system}_stage"], "retrieval")
        measures = {
            "stage_accuracy": stage,
            "within_one": loc.within_one(hop, true),
            "ancestor": loc.ancestor(stage, hop, true),
            "hop_error": loc.hop_error(hop, true),
        }
        for metric, values in measures.items():
            is_rate = metric != "hop_error"
            mean = clustered(values, cases, metric, system, where, rate=is_rate)
            unit = "rate" if is_rate else "hop"
            yield row("softer", metric, system, POOLED, where, mean, len(cases), unit=unit, needs_gold=True)


def controls(cases: pd.DataFrame, where: str) -> Iterator[Row]:
    """Predictors that look at nothing: always hop 1, 2 or 3, and a uniform choice among the trace's hops."""
    for hop in CONSTANTS:
        hits = loc.exact(np.full(len(cases), hop), cases["depth"])
        value = clustered(hits, cases, "constant", hop, where)
        yield row("controls", "exact_hop", f"constant_hop_{hop}", POOLED, where, value, len(cases))
    expected = loc.random_hop_exact(cases["depth"], cases["iterations_used"])
    value = clustered(expected, cases, RANDOM, where)
    yield row("controls", "exact_hop", RANDOM, POOLED, where, value, len(cases), note="expected value")


def costs(cases: pd.DataFrame, where: str) -> Iterator[Row]:
    """Tokens for each correct diagnosis, over failed cases."""
    for system in SYSTEMS:
        right = loc.exact(cases[f"{system}_hop"], cases["depth"])
        cost = loc.tokens_per_correct(cases[f"{system}_tokens"], right)
        note = "" if cost is not None else "undefined: no correct diagnosis"
        at = ("costs", "tokens_per_correct", system, POOLED, where)
        yield row(*at, cost, len(cases), unit="tokens", needs_gold=True, note=note)


def pairs(cases: pd.DataFrame, where: str) -> Iterator[Row]:
    """Discordant pairs of Propagation-Aware with every other diagnoser: right alone, and wrong alone."""
    first = loc.exact(cases["propagation_aware_hop"], cases["depth"])
    for system in SYSTEMS:
        if system == "propagation_aware":
            continue
        only, other = loc.discordant(first, loc.exact(cases[f"{system}_hop"], cases["depth"]))
        name = f"propagation_aware:{system}"
        for metric, k in (("discordant_first", only), ("discordant_second", other)):
            yield count("pairs", metric, name, POOLED, where, k, len(cases), needs_gold=True)


def by_condition(cases: pd.DataFrame) -> Iterator[Row]:
    """Exact-hop accuracy in each of the four conditions."""
    for backbone, dataset in CONDITIONS:
        part = cases.loc[(cases["backbone"] == backbone) & (cases["dataset"] == dataset)]
        for depth in DEPTHS:
            where = f"agent={backbone};depth={depth}"
            yield from exact_hop("conditions", at_depth(part, depth), dataset, where)


def by_suffix(cases: pd.DataFrame) -> Iterator[Row]:
    """Exact-hop accuracy by the number of hops after the fault, and how many failures have none."""
    for suffix in (0, 1, 2):
        part = cases.loc[cases["suffix"] == suffix]
        yield from exact_hop("suffix", part, POOLED, f"suffix={suffix}")
    for depth in (*DEPTHS, "all"):
        part = at_depth(cases, depth)
        without = (part["suffix"] == 0).sum()
        yield count("suffix", "failed_without_suffix", "all", POOLED, f"depth={depth}", without, len(part))


def by_strategy(cases: pd.DataFrame) -> Iterator[Row]:
    """Exact-hop accuracy by what was changed, and at which depth those failures are."""
    for strategy in STRATEGIES:
        part = cases.loc[cases["strategy"] == strategy]
        yield from exact_hop("strategies", part, POOLED, f"strategy={strategy}")
        for depth in DEPTHS:
            k = (part["depth"] == depth).sum()
            where = f"depth={depth};strategy={strategy}"
            yield count("strategies", "failed", "all", POOLED, where, k, len(part))
        yield count("strategies", "failed", "all", POOLED, f"strategy={strategy}", len(part), len(cases))


def answers(cases: pd.DataFrame) -> Iterator[Row]:
    """What each diagnoser answers, whatever the truth: how often it names each hop."""
    for system in SYSTEMS:
        for hop in range(5):
            k = (cases[f"{system}_hop"] == hop).sum()
            at = ("controls", "answers_hop", system, POOLED, f"hop={hop}")
            yield count(*at, k, len(cases), needs_gold=True)


def not_possible(cases: pd.DataFrame) -> Iterator[Row]:
    """Controls that need what the release withholds: documents, sub-queries, fault-free traces."""
    for system, why in (
        ("gold_recall_coverage", "retrieved documents are not released"),
        ("sub_answer_coverage", "retrieved documents are not released"),
        ("sufficiency", "retrieved documents are not released"),
        ("placebo", "needs the model: a null repair re-answers"),
        ("false_alarms", "no fault-free traces are released"),
    ):
        at = ("controls", "exact_hop", system, POOLED, "depth=all")
        yield row(*at, None, 0, n_missing=len(cases), note=f"missing: not_applicable={len(cases)}; {why}")


def clustered(
    values: Sequence[float] | FloatArray, cases: pd.DataFrame, *key: object, rate: bool = True
) -> Estimate:
    """Mean with a BCa interval that resamples questions: a question gives up to six cases.

    Where every case is right (or wrong) a bootstrap sees no variation: then Wilson over the questions.
    """
    data = np.asarray(values, dtype=np.float64)
    questions = (cases["dataset"] + "/" + cases["sample_id"]).tolist()
    if rate and data.size and (bool((data == 0).all()) or bool((data == 1).all())):
        n = len(set(questions))
        return replace(wilson(n * int(data[0]), n), n=data.size)
    return bootstrap(data, generator("fp_released", *key), clusters=questions, resamples=RESAMPLES)

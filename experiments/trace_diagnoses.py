"""Paper 2's diagnosers on existing traces: which hop each of them names, and how often that is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from faultline.attribution.diagnosis import Diagnoser
from faultline.attribution.nli_sufficiency import NliSufficiency, Pair, pairs_of
from faultline.attribution.panel import panel
from faultline.attribution.rerun_rows import Names
from faultline.attribution.trace_cases import case_of, diagnose
from faultline.records import Trajectory
from faultline.results import Row
from faultline.stats import wilson
from faultline.traces.annotation import Annotated

FloatArray = npt.NDArray[np.float64]
TABLE = "hop_guesses"


def diagnosed(
    trajectories: Sequence[Trajectory],
    known: Mapping[str, Annotated],
    verify: Callable[[list[Pair]], FloatArray],
    seed: int,
) -> pd.DataFrame:
    """Guesses of all diagnosers that act on nothing, with the annotated hop beside them.

    Args:
        trajectories: Traces.
        known: Annotations by trace id.
        verify: (document, claim) pairs to probabilities, shape (n, 3), entailment first.
        seed: Of the random guess.
    """
    cases = [case_of(trajectory, None) for trajectory in trajectories]
    pairs = sorted({pair for case in cases for hop in case.hops for pair in pairs_of(hop)})
    entailed = dict(zip(pairs, map(float, verify(pairs)[:, 0]), strict=True)) if pairs else {}
    asked: list[Diagnoser] = [*panel("trace", None, seed), NliSufficiency(entailed)]
    table = diagnose(trajectories, asked, known)
    hops = {case.id: len(case.hops) for case in cases}
    blamed = {t.id: known[t.task_id].hop for t in trajectories if t.task_id in known}
    table["hops"] = table["case"].map(hops)
    table["hop"] = table["case"].map(blamed).astype("Int64")
    return table


def rows_of(names: Names, table: pd.DataFrame) -> Iterator[Row]:
    """How often each diagnoser names a hop, how often each hop, and how often the annotated one."""
    for system, part in table.groupby("system", sort=False):
        gold = bool(part["needs_gold"].iloc[0])
        asked = part[part["missing"] == ""]
        told = _told(part["missing"])
        lost = len(part) - len(asked)
        named = asked[asked["said_hop"] > 0]
        found = wilson(len(named), len(asked))
        yield names.row(
            TABLE, "names_a_hop", str(system), "observed", found, len(asked), needs_gold=gold, missing=lost,
            note=told,
        )  # fmt: skip
        for hop, count in sorted(named["said_hop"].astype(int).value_counts().items()):
            share = wilson(int(count), len(asked))
            yield names.row(
                TABLE, "named", str(system), f"hop={hop}", share, len(asked), needs_gold=gold, missing=lost,
                note=told,
            )  # fmt: skip
        scored = asked[asked["hop"].notna()]
        unknown = int(part["hop"].isna().sum())
        absent = len(part) - len(scored)
        right = wilson(int((scored["said_hop"] == scored["hop"]).sum()), len(scored))
        why = [told, f"without an annotated hop={unknown}" if unknown else ""]
        yield names.row(
            TABLE, "hop_accuracy", str(system), "annotated", right, len(scored), needs_gold=gold,
            missing=absent, note="; ".join(text for text in why if text),
        )  # fmt: skip


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """The printed table: one line a diagnoser."""
    part = table[table["table"] == TABLE]
    columns = ["system", "needs_gold", "value", "n_scored"]
    named, right = (part.loc[part["metric"] == metric, columns] for metric in ("names_a_hop", "hop_accuracy"))
    return named.merge(right, on=["system", "needs_gold"], suffixes=("", "_right")).rename(
        columns={"value": "names_a_hop", "value_right": "hop_accuracy", "n_scored_right": "n_annotated"}
    )


def _told(missing: pd.Series) -> str:
    counts = missing[missing != ""].value_counts()
    return "missing: " + ", ".join(f"{why}={n}" for why, n in sorted(counts.items())) if len(counts) else ""

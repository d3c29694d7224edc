"""Accuracy of two diagnosers at equal probe tokens."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from faultline.attribution import localization as loc
from faultline.attribution.rerun_rows import Names
from faultline.results import Row

SLACK = 1.05
"""Our diagnoser may cost this much more than the one it is compared with."""
OURS = "changepoint_"


def equal_cost_rows(names: Names, table: pd.DataFrame) -> Iterator[Row]:
    """How much more often our diagnoser is exact than each other one, for no more tokens a case.

    For each other diagnoser the dearest version of ours that costs at most as much on average (placebos
    included) is taken; the difference is paired by case and its interval clustered by question.
    """
    for (setting, family, scope, depth), part in table.groupby(["setting", "family", "scope", "depth"]):
        where = f"family={family};scope={scope};depth={depth};{setting}"
        costs = (part["tokens"] + part["placebo_tokens"]).groupby(part["system"]).mean()
        ours = costs[costs.index.str.startswith(OURS)].sort_values()
        hits = part.assign(hit=loc.exact(part["said_hop"], part["depth"]))
        wide = hits.pivot_table(index=["case", "task"], columns="system", values="hit", aggfunc="first")
        for system in (name for name in costs.index if not name.startswith(OURS)):
            affordable = ours[ours <= SLACK * costs[system]]
            name = f"{OURS.rstrip('_')}:{system}"
            if affordable.empty:
                yield names.row(
                    "equal_cost", "gain", name, where, None, 0, needs_gold=True, missing=len(wide),
                    note=f"missing: not_applicable={len(wide)}; no version of ours is as cheap",
                )  # fmt: skip
                continue
            best = str(affordable.index[-1])
            tasks = [str(task) for _, task in wide.index]
            value = names.difference(wide[best], wide[system], tasks, "gain", name, where)
            note = f"{best} at {affordable.iloc[-1]:.0f} tokens against {costs[system]:.0f}"
            yield names.row("equal_cost", "gain", name, where, value, len(wide), needs_gold=True, note=note)

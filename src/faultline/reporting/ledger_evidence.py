"""How a claim meets its evidence: rows of results, tests on rows, consistency functions."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from faultline.errors import ConfigError
from faultline.printed import Finding, Printed
from faultline.reporting.ledger import Claim

ROOMS = {"charm": "charm", "fp": "attribution", "ths": "ths"}
"""Paper to the room whose ``consistency`` module its claims may call."""
OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_SELECTOR = ("metric", "system", "dataset", "condition", "table", "experiment")
_TRANSFORMS: Mapping[str, Callable[[float], float]] = {"abs": abs, "negate": operator.neg}


@dataclass(frozen=True, slots=True)
class Found:
    """A number of the results table: the column asked for, and where it comes from.

    Attributes:
        low: Lower end of the row's interval, None where the column asked for has none.
        n: Cases that gave the value, of ``total``.
    """

    value: float | None
    note: str
    backbone: str
    dataset: str
    low: float | None = None
    high: float | None = None
    n: int | None = None
    total: int | None = None


class Rows:
    """A results table, indexed by metric for fast selection."""

    def __init__(self, table: pd.DataFrame, run: str = "") -> None:
        self.run = run
        self._by_metric: dict[str, list[Mapping[str, Any]]] = {}
        for record in table.to_dict(orient="records"):
            self._by_metric.setdefault(str(record["metric"]), []).append(
                {str(k): v for k, v in record.items()}
            )

    def matching(self, selector: Mapping[str, Any], *, exact: bool) -> list[Found]:
        """Rows that a selector picks.

        Args:
            selector: ``metric`` and any of system, dataset, condition, table, experiment; ``column`` is value
                (default), low, high or a count; ``transform`` is abs or negate. A list of data sets means any
                of them.
            exact: Whether ``condition`` must be the row's whole condition, or only part of it.
        """
        column = selector.get("column", "value")
        change = _TRANSFORMS.get(selector.get("transform", ""), float)
        out = []
        for record in self._by_metric.get(selector["metric"], []):
            if not _picks(selector, record, exact):
                continue
            number = record[column]
            value = None if number is None or pd.isna(number) else change(float(number))
            ends = _interval(record, selector, change) if column == "value" else (None, None)
            counts = int(record["n_scored"]), int(record["n_total"])
            named = str(record["note"]), str(record["backbone"]), str(record["dataset"])
            out.append(Found(value, *named, *ends, *counts))
        return out

    def one(self, selector: Mapping[str, Any], claim: Claim) -> Found:
        """The only row that a selector picks.

        Raises:
            ConfigError: No row, or more than one.
        """
        found = self.matching(selector, exact=True)
        if len(found) != 1:
            raise ConfigError(
                f"claim {claim.paper}:{claim.id}: {len(found)} rows for {dict(selector)}, expected one"
            )
        return found[0]


def compare(rows: Rows, item: Mapping[str, Any], claim: Claim) -> tuple[bool | None, str]:
    """One comparison of a statement: a row against a number or against another row.

    Args:
        rows: Where to look.
        item: A selector with ``op`` and ``than`` (a number, or a selector).
        claim: For messages.

    Returns:
        Whether it holds (None where a side is undefined), and a line that shows both sides.
    """
    left = rows.one({k: v for k, v in item.items() if k not in ("op", "than")}, claim).value
    bound = item["than"]
    right = rows.one(bound, claim).value if isinstance(bound, Mapping) else float(bound)
    name = " ".join(str(item[key]) for key in ("metric", "system", "condition") if item.get(key))
    line = f"{name} = {_show(left)} {item['op']} {_show(right)}"
    if left is None or right is None:
        return None, f"{line}: undefined"
    return OPERATORS[item["op"]](left, right), line


def call(claim: Claim, claims: Mapping[str, Claim]) -> Finding:
    """Run the consistency function of a claim.

    Args:
        claim: Its evidence names a ``function`` of its paper's consistency module, and ``arguments``; a text
            that starts with ``@`` stands for the printed number of that claim.
        claims: The paper's claims by id.

    Raises:
        ConfigError: No such function, argument or claim.
    """
    module = importlib.import_module(f"faultline.{ROOMS[claim.paper]}.consistency")
    name = str(claim.evidence["function"])
    function = getattr(module, name, None)
    if name.startswith("_") or not callable(function):
        raise ConfigError(
            f"claim {claim.paper}:{claim.id}: no consistency function {name} in {module.__name__}"
        )
    arguments = _resolve(claim.evidence.get("arguments", {}), claim, claims)
    try:
        finding = function(**arguments)
    except TypeError as error:
        raise ConfigError(f"claim {claim.paper}:{claim.id}: {name}: {error}") from error
    if not isinstance(finding, Finding):
        raise ConfigError(f"claim {claim.paper}:{claim.id}: {name} is not a consistency function")
    return finding


def _resolve(argument: Any, claim: Claim, claims: Mapping[str, Claim]) -> Any:
    if isinstance(argument, str) and argument.startswith("@"):
        return _printed(argument[1:], claim, claims)
    if isinstance(argument, Mapping):
        return {key: _resolve(value, claim, claims) for key, value in argument.items()}
    if isinstance(argument, Sequence) and not isinstance(argument, str):
        return [_resolve(value, claim, claims) for value in argument]
    return argument


def _printed(name: str, claim: Claim, claims: Mapping[str, Claim]) -> Printed:
    target = claims.get(name)
    if target is None or target.number is None:
        raise ConfigError(f"claim {claim.paper}:{claim.id}: @{name} is not a claim with a printed number")
    return target.number


def _picks(selector: Mapping[str, Any], record: Mapping[str, Any], exact: bool) -> bool:
    for key in _SELECTOR:
        if key not in selector:
            continue
        if key == "condition" and not exact:
            if not _pairs(selector[key]) <= _pairs(str(record[key])):
                return False
        elif str(record[key]) not in (selector[key] if isinstance(selector[key], list) else [selector[key]]):
            return False
    return True


def _interval(
    record: Mapping[str, Any], selector: Mapping[str, Any], change: Callable[[float], float]
) -> tuple[float | None, float | None]:
    """The row's interval; none under ``abs``, which may fold it."""
    if pd.isna(record["low"]) or pd.isna(record["high"]) or selector.get("transform") == "abs":
        return None, None
    ends = sorted((change(float(record["low"])), change(float(record["high"]))))
    return ends[0], ends[1]


def _pairs(condition: str) -> set[str]:
    return {pair for pair in condition.split(";") if pair}


def _show(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.6g}"


def conditions(
    tests: Iterable[Mapping[str, Any]], rows: Rows, claim: Claim
) -> tuple[list[bool | None], list[str]]:
    """All comparisons of a list, with their lines."""
    results = [compare(rows, item, claim) for item in tests]
    return [holds for holds, _ in results], [line for _, line in results]

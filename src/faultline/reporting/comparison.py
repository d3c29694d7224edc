"""Two or more runs side by side: paired where the same cases were run, and never otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import binomtest

from faultline.stats import bootstrap, generator, holm

FloatArray = npt.NDArray[np.float64]
GROUP = ["metric", "system", "condition"]
ROW = ["table", "metric", "system", "dataset", "condition"]
FLIPS = 10_000
"""Random sign flips of a test; the smallest p is then 1 / 10,001."""
BESIDE_RESULTS = ("runs_dir", "overwrite", "dry_run", "tracking", "trainer", "hydra")


@dataclass(frozen=True)
class Side:
    """One run as it is compared.

    Attributes:
        name: Short, distinct among the sides.
        config: Nested.
        rows: Columns of :data:`ROW`, ``backbone``, ``value``, ``low``, ``high``, ``n_scored``, ``n_total``.
        units: Its cases as :mod:`faultline.reporting.units` gives them; None if it holds none.
    """

    name: str
    config: Mapping[str, Any]
    rows: pd.DataFrame
    units: pd.DataFrame | None = None


def config_differences(sides: Sequence[Side]) -> pd.DataFrame:
    """The configuration keys in which the sides differ; what no product depends on is left out."""
    flat = [
        {k: v for k, v in flattened(side.config).items() if k.split(".")[0] not in BESIDE_RESULTS}
        for side in sides
    ]
    keys = sorted(set().union(*flat))
    rows = [{"key": k, **{s.name: f.get(k, "–") for s, f in zip(sides, flat, strict=True)}} for k in keys]
    return pd.DataFrame(
        [r for r in rows if len({str(v) for n, v in r.items() if n != "key"}) > 1],
        columns=["key", *(s.name for s in sides)],
    )


def values(sides: Sequence[Side]) -> pd.DataFrame:
    """One line a results row that any side has, one column a side: value, interval and n as text."""
    shown = [
        side.rows.assign(**{side.name: [_shown(r) for r in side.rows.to_dict("records")]})[[*ROW, side.name]]
        for side in sides
    ]
    table = shown[0]
    for other in shown[1:]:
        table = table.merge(other, on=ROW, how="outer", sort=False)
    return table.fillna("–")


def repeats(sides: Sequence[Side]) -> pd.DataFrame:
    """Mean and sample SD of each results row over the sides, for sides that are repeats of one study."""
    every = pd.concat([s.rows[[*ROW, "value"]] for s in sides], ignore_index=True)
    found = every.groupby(ROW, sort=False, dropna=False)["value"].agg(["mean", "std", "count"])
    return found.rename(columns={"std": "sd", "count": "runs"}).reset_index()


def paired(a: Side, b: Side, *, common: bool = False, seed: int = 0) -> pd.DataFrame:
    """Differences B - A over the cases that both ran, one line a metric, system and condition.

    The interval is BCa over questions, the p-value an exact McNemar test where each question gives one yes or
    no, else random sign flips of whole questions; ``p_holm`` corrects over the table. Where the two sides did
    not run the same cases the line says so and has neither difference nor test.

    Args:
        a: First side.
        b: Second side.
        common: Compare the cases in common even if either side has others; the counts are in the line.
        seed: Of resamples and flips.
    """
    left, right = _grouped(a.units), _grouped(b.units)
    lines = [
        _line(key, left.get(key), right.get(key), common=common, seed=seed) for key in _in_order(left, right)
    ]
    return corrected(pd.DataFrame(lines, columns=[*GROUP, *_FIELDS]))


def corrected(table: pd.DataFrame) -> pd.DataFrame:
    """The table with ``p_holm`` over all of its tests; lines without a test have none."""
    table = table.copy()
    tested = table["p"].notna().to_numpy()
    adjusted = np.full(len(table), np.nan)
    if tested.any():
        adjusted[tested] = holm(table.loc[tested, "p"].astype(float).tolist())
    table["p_holm"] = adjusted
    return table


def compact(table: pd.DataFrame) -> pd.DataFrame:
    """A table of :func:`paired` for a person: difference with its interval, n, p, or why there is none."""
    lines = []
    for r in table.to_dict("records"):
        tested = r["p"] is not None and not pd.isna(r["p"])
        ends = "" if r["low"] is None or pd.isna(r["low"]) else f" [{r['low']:+.3f}, {r['high']:+.3f}]"
        lines.append(
            {
                **({"side": r["side"]} if table.get("side") is not None else {}),
                **{name: r[name] for name in GROUP},
                "a": _plain(r["a"]),
                "b": _plain(r["b"]),
                "b - a [95 %]": f"{r['difference']:+.3f}{ends}" if tested else "",
                "n": int(r["n"]),
                "p": f"{r['p']:.2g}" if tested else "",
                "Holm": f"{r['p_holm']:.2g}" if tested else "",
                "note": r["note"] or "",
            }
        )
    return pd.DataFrame(lines)


def disagreements(a: Side, b: Side) -> pd.DataFrame:
    """The cases of which the two sides say different things."""
    if a.units is None or b.units is None:
        return pd.DataFrame(columns=["unit", *GROUP, a.name, b.name])
    keys = ["unit", *GROUP]
    both = a.units[[*keys, "value"]].merge(b.units[[*keys, "value"]], on=keys, suffixes=("_a", "_b"))
    apart = both[both["value_a"] != both["value_b"]]
    return apart.rename(columns={"value_a": a.name, "value_b": b.name}).reset_index(drop=True)


def sign_flip_p(difference: FloatArray, clusters: Sequence[object], rng: np.random.Generator) -> float:
    """Two-sided p of a mean difference of 0 under random sign flips of whole clusters.

    Args:
        difference: Shape (n,).
        clusters: Shape (n,), question ids.
        rng: Source of the flips.
    """
    _, codes = np.unique(np.asarray([str(c) for c in clusters]), return_inverse=True)
    sums = np.bincount(codes, weights=difference)
    sums = sums[sums != 0.0]
    if not sums.size:
        return 1.0
    seen = abs(sums.sum())
    block = max(1, 4_000_000 // sums.size)
    beyond = 0
    for start in range(0, FLIPS, block):
        signs = rng.integers(0, 2, (min(block, FLIPS - start), sums.size)) * 2.0 - 1.0
        beyond += int((abs(signs @ sums) >= seen - 1e-12).sum())
    return (beyond + 1) / (FLIPS + 1)


def flattened(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """``{"a": {"b": 1}}`` as ``{"a.b": 1}``."""
    out: dict[str, Any] = {}
    for key, value in config.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            out |= flattened(value, f"{name}.")
        else:
            out[name] = value
    return out


_FIELDS = ("a", "b", "difference", "low", "high", "n", "only_a", "only_b", "test", "p", "note")


def _grouped(units: pd.DataFrame | None) -> dict[tuple[str, ...], pd.DataFrame]:
    if units is None or not len(units):
        return {}
    return {tuple(map(str, k)): g.set_index("unit") for k, g in units.groupby(GROUP, sort=False)}


def _in_order(*groups: Mapping[tuple[str, ...], Any]) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(key for group in groups for key in group))


def _line(
    key: tuple[str, ...], a: pd.DataFrame | None, b: pd.DataFrame | None, *, common: bool, seed: int
) -> dict[str, Any]:
    line: dict[str, Any] = {**dict(zip(GROUP, key, strict=True)), **dict.fromkeys(_FIELDS)}
    known_a = set() if a is None else set(a.index)
    known_b = set() if b is None else set(b.index)
    both = sorted(known_a & known_b)
    line |= {
        "a": float(a["value"].mean()) if a is not None else None,
        "b": float(b["value"].mean()) if b is not None else None,
        "n": len(both),
        "only_a": len(known_a - known_b),
        "only_b": len(known_b - known_a),
    }
    if a is None or b is None or not both:
        return line | {"note": "not paired: no case in common"}
    if known_a != known_b and not common:
        return line | {"note": f"not paired: {len(both)} of {len(known_a | known_b)} cases are in both"}
    return line | _tested(a.loc[both], b.loc[both], generator(seed, *key, "compare"))


def _tested(a: pd.DataFrame, b: pd.DataFrame, rng: np.random.Generator) -> dict[str, Any]:
    x, y = a["value"].to_numpy(dtype=np.float64), b["value"].to_numpy(dtype=np.float64)
    difference, clusters = y - x, a["cluster"].tolist()
    estimate = bootstrap(difference, rng, clusters=clusters)
    binary = bool(np.isin(np.concatenate([x, y]), (0.0, 1.0)).all())
    if binary and len(set(clusters)) == len(clusters):
        up, down = int((difference > 0).sum()), int((difference < 0).sum())
        p = float(binomtest(up, up + down).pvalue) if up + down else 1.0
        test = "McNemar, exact"
    else:
        p, test = sign_flip_p(difference, clusters, rng), "sign flips by question"
    ends = {"low": estimate.low, "high": estimate.high}
    means = {"a": float(x.mean()), "b": float(y.mean())}
    return {**means, **ends, "difference": estimate.value, "test": test, "p": p, "note": ""}


def _plain(value: float | None) -> str:
    return "" if value is None or pd.isna(value) else f"{value:.3f}"


def _shown(row: Mapping[Any, Any]) -> str:
    if row["value"] is None or pd.isna(row["value"]):
        return "missing"
    ends = "" if pd.isna(row["low"]) else f" [{row['low']:.3g}, {row['high']:.3g}]"
    counted = f" n={int(row['n_scored'])}" if not pd.isna(row["n_scored"]) else ""
    return f"{row['value']:.4g}{ends}{counted}"

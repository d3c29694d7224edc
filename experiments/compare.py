"""Compare runs: ``python -m experiments.compare RUN_A RUN_B [...]``.

A RUN is a run directory, a sweep's folder, an archive, an offline W&B run, or ``entity/project/run`` on a W&B
server. Differences are those from the first. Exit status: 0 compared, 2 wrong usage or data.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from faultline.errors import ConfigError, FaultlineError

if TYPE_CHECKING:
    from faultline.reporting.comparison import Side
    from faultline.reporting.console import Terminal

SHOWN = 40
"""Lines of each table in the terminal; the files hold them all."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(
        prog="python -m experiments.compare",
        description="Configurations, metrics and single cases of runs side by side.",
        epilog="Only runs of the same cases are compared in pairs; --common takes those that both ran.",
    )
    out.add_argument("runs", nargs="+", metavar="RUN", help="run directory, sweep, .zip, W&B run")
    out.add_argument("--baseline", choices=["published"], help="put the paper's numbers first")
    out.add_argument(
        "--common", action="store_true", help="pair the cases in common even if a run has others"
    )
    out.add_argument("--out", type=Path, metavar="DIR", help="folder of the tables and the plot")
    out.add_argument("--seed", type=int, default=0, help="of resamples and sign flips (default 0)")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """The console entry point; returns the exit status."""
    given = parser().parse_args(arguments)
    from faultline.reporting.console import Terminal

    terminal = Terminal()
    try:
        with tempfile.TemporaryDirectory(prefix="faultline-") as scratch:
            terminal.print(compare(given, Path(scratch), terminal))
    except FaultlineError as error:
        terminal.error(str(error))
        return 2
    return 0


def compare(given: argparse.Namespace, scratch: Path, terminal: Terminal) -> Path:
    """Print the comparison and write its tables; returns their folder.

    Raises:
        FaultlineError: Fewer than two sides, or one that cannot be read.
    """
    from experiments.compare_sides import sides
    from faultline.codec import key_of
    from faultline.reporting import comparison, figure_style
    from faultline.reporting.figures_comparison import differences

    found = sides(given.runs, scratch)
    if len(found) < 2 and not given.baseline:
        raise ConfigError("compare needs two runs, or one with --baseline published")
    out = given.out or Path("runs") / "comparisons" / key_of([side.name for side in found])
    out.mkdir(parents=True, exist_ok=True)
    config = comparison.config_differences(found)
    _tell("configuration keys that differ", config, out / "config.csv", terminal)
    if given.baseline:
        _tell("the paper's numbers and ours", published(found), out / "published.csv", terminal)
    every = comparison.values(found)
    apart = every[every[[side.name for side in found]].nunique(axis=1) > 1] if len(found) > 1 else every
    _tell("metrics that differ, value [95 % interval]", every, out / "values.csv", terminal, apart)
    if len(found) > 1 and set(config["key"]) <= {"seed"}:
        _tell("over repeats", comparison.repeats(found), out / "repeats.csv", terminal)
    pairs = _pairs(found, common=given.common, seed=given.seed)
    if len(pairs):
        title = f"differences from {found[0].name}"
        _tell(title, pairs, out / "paired.csv", terminal, comparison.compact(pairs))
        with figure_style.style():
            figure_style.save(differences(pairs, found[0].name), out, "differences")
    for other in found[1:]:
        apart = comparison.disagreements(found[0], other)
        name = "".join(c if c.isalnum() else "-" for c in other.name)
        _tell(f"cases of which {other.name} says something else", apart, out / f"apart-{name}.csv", terminal)
    return out


def published(found: Sequence[Side]) -> pd.DataFrame:
    """One line a published number that any side has, the paper's column first."""
    from experiments.verify import CLAIMS
    from faultline.reporting import ledger, ledger_check
    from faultline.reporting.ledger_evidence import Rows
    from faultline.reporting.paper_tables import number

    claims = ledger.load(CLAIMS)
    reruns = [c for c in claims if c.kind == "rerun"]
    recomputed = [c for c in claims if c.kind == "recompute"]
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for side in found:
        rows, again = Rows(side.rows), Rows(side.rows[side.rows["backbone"] != "released"], side.name)
        known = [c for c in recomputed if len(rows.matching(c.evidence, exact=True)) == 1]
        outcomes = ledger_check.check(known, {c.paper: rows for c in known})
        for outcome in (*outcomes, *ledger_check.check(reruns, {}, [again])):
            if outcome.computed is not None:
                claim = outcome.claim
                start = {"paper": claim.paper, "claim": claim.id, "about": claim.text}
                line = lines.setdefault((claim.paper, claim.id), start | {"published": claim.printed})
                line[side.name] = f"{number(outcome, outcome.computed)} ({outcome.status})"
    names = ["paper", "claim", "about", "published", *(side.name for side in found)]
    return pd.DataFrame(list(lines.values()), columns=names).fillna("–")


def _pairs(found: Sequence[Side], *, common: bool, seed: int) -> pd.DataFrame:
    """Each further side against the first, corrected over all tests together."""
    from faultline.reporting import comparison

    tables = [
        comparison.paired(found[0], other, common=common, seed=seed).assign(side=other.name)
        for other in found[1:]
    ]
    if not tables:
        return pd.DataFrame()
    every = pd.concat(tables, ignore_index=True)
    return comparison.corrected(every[["side", *(c for c in every.columns if c != "side")]])


def _tell(
    title: str, table: pd.DataFrame, path: Path, terminal: Terminal, shown: pd.DataFrame | None = None
) -> None:
    """A table's first lines in the terminal (or those of another one), all of it in a file."""
    table.to_csv(path, index=False)
    lines = table if shown is None else shown
    if not len(lines):
        terminal.note(f"{title}: none")
        return
    plain = lines.head(SHOWN).map(lambda v: f"{v:.4g}" if isinstance(v, float) else "" if v is None else v)
    terminal.table(f"{title} ({len(lines):,})", plain)
    if len(lines) > SHOWN or len(lines) < len(table):
        terminal.note(f"{len(table):,} lines in {path}")


if __name__ == "__main__":
    sys.exit(main())

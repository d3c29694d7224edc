"""One page for some runs: ``python -m experiments.report RUN [RUN ...] --out page/``.

A RUN is a run directory, a sweep's folder, or an archive of ``experiments.export``. The folder needs no
network and opens from disk. Exit status: 0 written, 2 wrong usage or data.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultline.errors import FaultlineError

if TYPE_CHECKING:
    from faultline.reporting.console import Terminal
    from faultline.reporting.saved_run import SavedRun

MOST = 5000
"""Trajectories on a page, unless more are asked for."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(
        prog="python -m experiments.report",
        description="A page of tables, figures, the ledger and every trajectory; opens from disk.",
        epilog="Released data are read from FAULTLINE_DATA_DIR; without them their claims stay `not run`.",
    )
    out.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="run directory, sweep folder, .zip")
    out.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the page")
    out.add_argument("--title", default="What holds, and how errors travel", help="the page's heading")
    out.add_argument(
        "--trajectories", type=int, default=MOST, metavar="N", help=f"at most N on the page (default {MOST})"
    )
    out.add_argument("--no-figures", action="store_true", help="leave the papers' figures out")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """The console entry point; returns the exit status."""
    given = parser().parse_args(arguments)
    from faultline.reporting.console import Terminal

    terminal = Terminal()
    try:
        with tempfile.TemporaryDirectory(prefix="faultline-") as scratch:
            terminal.print(report(given, Path(scratch), terminal))
    except FaultlineError as error:
        terminal.error(str(error))
        return 2
    except KeyboardInterrupt:
        terminal.error("interrupted; repeat the command")
        return 130
    return 0


def report(given: argparse.Namespace, scratch: Path, terminal: Terminal) -> Path:
    """Write the page; returns its ``index.html``.

    Raises:
        FaultlineError: A run cannot be read, or the folder cannot be used.
    """
    from experiments import report_parts as parts
    from faultline.reporting.page import write

    runs = parts.open_all(given.runs, scratch)
    out = write.prepared(given.out)
    root = parts.gathered(runs, scratch / "runs")
    outcomes, warnings = parts.ledger(runs, root)
    shown, left_out = _chosen(runs, given.trajectories)
    if left_out:
        warnings.append(
            f"{left_out:,} further trajectories are not on this page; --trajectories N takes more"
        )
    described = [parts.run_part(run, out) for run in runs]
    papers, told = parts.papers(outcomes, runs, described, root, out, figures=not given.no_figures)
    page = write.Page(
        title=given.title,
        outcomes=outcomes,
        papers=papers,
        runs=described,
        costs=parts.costs(runs),
        times=parts.times(runs),
        warnings=[*warnings, *told],
    )
    with terminal.progress("trajectories", sum(shown.values())) as advance:
        written = write.write(page, _views(runs, shown), out, advance)
    for line in page.warnings:
        terminal.note(line)
    terminal.note(f"{len(outcomes):,} claims, {written:,} trajectories, {len(runs)} runs")
    return out / "index.html"


def _chosen(runs: Sequence[SavedRun], most: int) -> tuple[dict[str, int], int]:
    """How many trajectories of each run go on the page, in the order given, and how many do not."""
    from faultline.reporting.page import viewed

    shown: dict[str, int] = {}
    left, out = max(0, most), 0
    for run in runs:
        there = viewed.count(run)
        shown[run.name] = min(there, left)
        out += there - shown[run.name]
        left -= shown[run.name]
    return shown, out


def _views(runs: Sequence[SavedRun], shown: dict[str, int]) -> Iterator[Any]:
    from faultline.reporting.page import viewed

    for run in runs:
        if shown[run.name]:
            yield from islice(viewed.views(run), shown[run.name])


if __name__ == "__main__":
    sys.exit(main())

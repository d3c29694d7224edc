"""Make a paper's figures from results: ``python -m paper_figures.make ths`` (or ``fp``).

Exit status: 0 written, 1 a caption's number disagrees with the results, 2 wrong usage or data.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from faultline.errors import FaultlineError

PAPERS = {"ths": "Figures 6-14 of paper 3", "fp": "depth, outcomes, cost and suffix of paper 2's re-runs"}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(prog="python -m paper_figures.make", description="Figures from results.")
    out.add_argument("paper", choices=PAPERS, help="; ".join(f"{k}: {v}" for k, v in PAPERS.items()))
    out.add_argument("--runs-dir", type=Path, default=Path("runs"), help="where the newest run is looked for")
    out.add_argument("--out", type=Path, default=None, help="folder of the figures (default: figures/PAPER)")
    out.add_argument("--only", nargs="+", metavar="STEM", help="for example figure6 figure10")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """The console entry point; returns the exit status."""
    given = parser().parse_args(arguments)
    from faultline.reporting.console import Terminal

    paper = importlib.import_module(f"paper_figures.{given.paper}")
    terminal = Terminal()
    try:
        source, wrong = paper.load(given.runs_dir)
        for path in paper.make(source, given.out or Path("figures") / given.paper, given.only):
            terminal.print(path)
    except FaultlineError as error:
        terminal.error(str(error))
        return 2
    for line in wrong:
        terminal.error(f"caption: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

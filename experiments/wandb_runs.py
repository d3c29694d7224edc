"""List offline W&B runs: ``python -m experiments.wandb_runs [PATH ...]``; no server and no network.

Compare them with ``python -m experiments.compare FILE.wandb FILE.wandb``. Exit status: 0 listed, 2 wrong
usage or data.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from faultline.errors import FaultlineError


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(prog="python -m experiments.wandb_runs", description="Offline W&B runs.")
    out.add_argument("paths", nargs="*", type=Path, default=[Path("runs")], metavar="PATH")
    out.add_argument("--tables", action="store_true", help="also read every table, and count its rows")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """The console entry point; returns the exit status."""
    given = parser().parse_args(arguments)
    import pandas as pd

    from faultline.reporting import wandb_files
    from faultline.reporting.console import Terminal

    terminal = Terminal()
    try:
        runs = [wandb_files.read(path) for path in wandb_files.find(given.paths)]
        terminal.table(f"{len(runs)} offline runs", wandb_files.listing(runs))
        if given.tables:
            lines = [
                {"run": run.name or run.id, "table": name, "rows": len(table), "columns": len(table.columns)}
                for run in runs
                for name, table in run.tables().items()
            ]
            terminal.table("their tables", pd.DataFrame(lines, columns=["run", "table", "rows", "columns"]))
    except FaultlineError as error:
        terminal.error(str(error))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

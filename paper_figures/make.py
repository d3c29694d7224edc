"""Make figures from results: ``python -m paper_figures.make [charm|fp|ths|all ...]``.

A paper's figures are a module of this folder with ``load(runs_dir)`` and ``make(source, folder, only)``; a
new file is found by itself. Exit status: 0 written, 1 a caption's number disagrees with the results, 2 wrong
usage or data.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from faultline.errors import DataError, FaultlineError

if TYPE_CHECKING:
    from faultline.reporting.console import Terminal

HERE = Path(__file__).resolve().parent
ALL = "all"
FORMATS = ("png", "pdf", "svg")


def groups() -> dict[str, str]:
    """Every module with figures and what its first line says, by name."""
    found = {}
    for path in sorted(HERE.glob("*.py")):
        if path.stem not in ("__init__", "make"):
            found[path.stem] = path.read_text().split('"""')[1].splitlines()[0].rstrip(".:")
    return found


def parser() -> argparse.ArgumentParser:
    """The command line."""
    known = groups()
    about = "; ".join(f"{name}: {what}" for name, what in known.items())
    out = argparse.ArgumentParser(prog="python -m paper_figures.make", description="Figures from results.")
    out.add_argument("paper", nargs="*", metavar="NAME", help=f"{about}; {ALL} (default): every one of them")
    out.add_argument("--runs-dir", type=Path, default=Path("runs"), help="where the newest run is looked for")
    out.add_argument("--out", type=Path, default=None, help="folder of the figures (default: figures/NAME)")
    out.add_argument("--only", nargs="+", metavar="STEM", help="for example figure6 figure10")
    out.add_argument("--formats", nargs="+", choices=FORMATS, default=["png", "pdf"], metavar="KIND")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """The console entry point; returns the exit status."""
    given = parser().parse_args(arguments)
    from faultline.reporting.console import Terminal

    terminal = Terminal()
    known = groups()
    unknown = [name for name in given.paper if name not in (*known, ALL)]
    if unknown:
        terminal.error(f"{', '.join(unknown)}: no such figures; choose from {', '.join((*known, ALL))}")
        return 2
    every = not given.paper or ALL in given.paper
    worst = 0
    for name in known if every else given.paper:
        folder = given.out or Path("figures") / name
        if every and given.out:
            folder = given.out / name
        worst = max(worst, _made(name, folder, given, terminal, spare=every))
    return worst


def _made(name: str, folder: Path, given: argparse.Namespace, terminal: Terminal, *, spare: bool) -> int:
    """One module's figures; where every module is asked for, one without data is told and passed over."""
    from faultline.reporting import figure_style

    module = importlib.import_module(f"paper_figures.{name}")
    try:
        source, wrong = module.load(given.runs_dir)
        with figure_style.rendering("print", tuple(given.formats)):
            for path in module.make(source, folder, given.only):
                terminal.print(path)
    except DataError as error:
        if spare:
            terminal.note(f"{name}: not drawn ({error})")
            return 0
        terminal.error(str(error))
        return 2
    except FaultlineError as error:
        terminal.error(str(error))
        return 2
    for line in wrong:
        terminal.error(f"caption: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

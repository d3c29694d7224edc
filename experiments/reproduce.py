"""Reproduce a paper: ``python -m experiments.reproduce charm|fp|ths [OPTION=VALUE ...]``.

Says what the paper's experiments would make and pay, runs them in order, prints the paper's tables with ours
beside the print, and ends with its ledger. Options go to every experiment that understands them; a file in
``conf/exp`` belongs to the paper whose name its own starts with, and says ``# reproduce: no`` to stay out or
``# reproduce: N`` for its place. Exit status: 0 as expected, 1 a claim came out unexpectedly, 2 something
could not be run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from experiments.catalogue import COMMON_OPTIONS, Entry, entries, module_of
from faultline.errors import FaultlineError

if TYPE_CHECKING:
    from faultline.reporting.console import Terminal

PAPERS = ("charm", "fp", "ths")
PRESETS = {"charm": "paper", "fp": "fp_paper", "ths": "ths_paper"}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(
        prog="python -m experiments.reproduce",
        description="A paper's experiments in order, its tables, its ledger.",
        epilog="preset=paper uses the paper's models; any other option as for experiments.run.",
    )
    out.add_argument("paper", choices=PAPERS)
    out.add_argument("options", nargs="*", metavar="OPTION=VALUE", help="limit=25 runs_dir=DIR preset=paper")
    out.add_argument("--estimate", action="store_true", help="say what it would take, and stop")
    out.add_argument("--only", nargs="+", metavar="NAME", help="only these experiments of the paper")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """The console entry point; returns the exit status."""
    given = parser().parse_intermixed_args(arguments)
    from faultline.reporting.console import Terminal

    terminal = Terminal()
    try:
        return reproduce(given, terminal)
    except FaultlineError as error:
        terminal.error(str(error))
        return 2
    except KeyboardInterrupt:
        terminal.error("interrupted; repeat the command to go on, finished work is kept")
        return 130


def reproduce(given: argparse.Namespace, terminal: Terminal) -> int:
    """Run a paper's experiments and print what came out; returns the exit status.

    Raises:
        ConfigError: An unknown option or experiment.
    """
    chosen = experiments_of(given.paper, given.only)
    terminal.table(f"{given.paper}: {len(chosen)} experiments, in this order", _listed(chosen))
    failed = _estimate(chosen, given, terminal)
    if given.estimate:
        return 2 if failed else 0
    finished: list[Path] = []
    for place, entry in enumerate(chosen, 1):
        if entry.name in failed:
            continue
        terminal.note(f"{place} of {len(chosen)}: {entry.name}")
        path = _run(entry, given, terminal, failed)
        finished += [path] if path else []
    surprising = _tell(given.paper, finished, terminal)
    for name, why in failed.items():
        terminal.error(f"not run: {name}: {why}")
    return 2 if failed else 1 if surprising else 0


def experiments_of(paper: str, only: Sequence[str] | None = None) -> list[Entry]:
    """The experiments of a paper, in the order in which they are run.

    Raises:
        ConfigError: ``only`` names another one.
    """
    from faultline.errors import ConfigError

    own = [e for e in entries() if e.name.startswith(f"{paper}_") and e.order is not None]
    own.sort(key=lambda e: (e.order, e.name))
    unknown = sorted(set(only or ()) - {e.name for e in own})
    if unknown:
        raise ConfigError(f"--only {', '.join(unknown)}: choose from {', '.join(e.name for e in own)}")
    return [e for e in own if only is None or e.name in only]


def overrides(entry: Entry, paper: str, options: Sequence[str]) -> list[str]:
    """What the user gave, as one experiment takes it: options that it does not understand are left out.

    ``preset=paper`` names the preset of the paper at hand.
    """
    from experiments.composition import compose

    module = module_of(compose([f"+exp={entry.name}"]).experiment)
    out = [f"+exp={entry.name}"]
    for option in options:
        name, _, value = option.lstrip("+~").partition("=")
        root = name.split(".")[0]
        if root == "preset":
            out.append(f"+preset={PRESETS[paper] if value == 'paper' else value}")
        elif root not in COMMON_OPTIONS or root in module.OPTIONS:
            out.append(option)
    return out


def _estimate(chosen: Sequence[Entry], given: argparse.Namespace, terminal: Terminal) -> dict[str, str]:
    """Print what each experiment would do; returns those that cannot run, with the reason."""
    from experiments.composition import compose

    failed: dict[str, str] = {}
    for entry in chosen:
        terminal.print(f"{entry.name} ({entry.cost or 'cost not stated'})")
        try:
            cfg = compose(overrides(entry, given.paper, given.options))
            for line in module_of(cfg.experiment).plan(cfg):
                terminal.print(f"  {line}")
        except FaultlineError as error:
            failed[entry.name] = str(error)
            terminal.print(f"  cannot run: {error}")
    return failed


def _run(entry: Entry, given: argparse.Namespace, terminal: Terminal, failed: dict[str, str]) -> Path | None:
    """One experiment; one that fails is noted and the others go on."""
    from experiments.composition import compose, set_options
    from experiments.execution import execute

    asked = overrides(entry, given.paper, given.options)
    try:
        return execute(compose(asked), entry.name, set_options(asked), terminal)
    except FaultlineError as error:
        failed[entry.name] = str(error)
        terminal.error(f"{entry.name}: {error}")
        return None


def _tell(paper: str, finished: Sequence[Path], terminal: Terminal) -> bool:
    """The paper's tables and its ledger; whether a claim came out unexpectedly."""
    from experiments import report_parts
    from faultline.reporting import ledger_check, ledger_print, paper_tables, saved_run

    runs = [saved_run.read(path) for path in finished]
    with tempfile.TemporaryDirectory(prefix="faultline-") as scratch:
        root = report_parts.gathered(runs, Path(scratch) / "runs")
        outcomes, told = report_parts.ledger(runs, root, [paper])
    title, tables = paper_tables.load(report_parts.LAYOUTS, paper, outcomes)
    terminal.print(f"{title}: published / ours [95 % interval] (backbone)")
    for table in tables:
        terminal.table(table.title, paper_tables.as_frame(table))
    for line in told:
        terminal.note(line)
    ledger_print.as_lines(outcomes, None, terminal)
    return bool(ledger_check.unexpected(outcomes))


def _listed(chosen: Sequence[Entry]) -> pd.DataFrame:

    return pd.DataFrame([{"experiment": e.name, "what": e.about, "cost": e.cost} for e in chosen])


if __name__ == "__main__":
    sys.exit(main())

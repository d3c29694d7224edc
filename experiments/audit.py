"""The audit log of a live guard: ``python -m experiments.audit verify FILE``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import orjson

from faultline.errors import FaultlineError
from faultline.live.audit import KEY_VARIABLE, environment_key, verify
from faultline.reporting.console import Terminal


def main(arguments: list[str] | None = None) -> int:
    """The console entry point; returns the exit status: 0 whole, 1 damaged, 2 wrong usage."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.audit",
        description="verify: finds any edit, deletion, insertion or reordering. show: a line a record.",
        epilog=f"A log that was written with a key is verified with the same {KEY_VARIABLE}.",
    )
    parser.add_argument("verb", choices=("verify", "show"))
    parser.add_argument("file", type=Path, help="the log")
    given = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    terminal = Terminal()
    try:
        count, problems = verify(given.file, environment_key())
    except FaultlineError as error:
        terminal.error(str(error))
        return 2
    if given.verb == "show":
        _show(given.file, terminal)
    for problem in problems:
        terminal.print(f"{given.file}: {problem}")
    terminal.print(f"{count} records, {len(problems)} problems")
    return 1 if problems else 0


def _show(path: Path, terminal: Terminal) -> None:
    for line in path.read_bytes().splitlines():
        try:
            record = orjson.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            names = ("seq", "event", "trajectory", "stage", "score", "action", "decision", "reason")
            told = [f"{name}={record[name]}" for name in names if record.get(name) not in (None, "")]
            terminal.print("  ".join(told))


if __name__ == "__main__":
    sys.exit(main())

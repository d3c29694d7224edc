"""Pack a run with the stores it used: ``python -m experiments.export RUN --out FILE.zip``.

The archive opens elsewhere: ``experiments.report`` takes it, and unpacked into a ``runs`` folder the run is
where it would have been made. Exit status: 0 written, 2 wrong usage or data.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from faultline.errors import ConfigError, FaultlineError


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(
        prog="python -m experiments.export", description="A run and the stores it used, in one archive."
    )
    out.add_argument("run", type=Path, metavar="RUN", help="a finished run directory")
    out.add_argument("--out", type=Path, required=True, metavar="FILE.zip", help="the archive")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """The console entry point; returns the exit status."""
    given = parser().parse_args(arguments)
    from faultline.reporting import saved_run
    from faultline.reporting.console import Terminal

    terminal = Terminal()
    try:
        with tempfile.TemporaryDirectory(prefix="faultline-") as scratch:
            runs = saved_run.opened(given.run, Path(scratch))
            if len(runs) != 1:
                raise ConfigError(f"{given.run}: stands for {len(runs)} runs; pack them one by one")
            files = len(list(runs[0].path.rglob("*"))) + len(runs[0].store_files())
            with terminal.progress("files", files) as advance:
                packed = 0
                for _ in saved_run.pack(runs[0], given.out):
                    packed += 1
                    advance(1)
    except FaultlineError as error:
        terminal.error(str(error))
        return 2
    terminal.note(f"{packed} files, {given.out.stat().st_size / 2**20:.1f} MiB")
    terminal.print(given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Upload offline W&B runs, wherever they are now: ``python -m experiments.sync runs/EXPERIMENT/KEY ...``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from faultline.errors import ConfigError, FaultlineError, StoreError
from faultline.reporting.console import Terminal
from faultline.wandb_log import logs, relocate


def main(arguments: list[str] | None = None) -> int:
    """The console entry point; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.sync",
        description="Upload the offline W&B runs of run directories; a directory may have been moved.",
    )
    parser.add_argument("run_dirs", nargs="+", type=Path, help="runs/EXPERIMENT/KEY")
    parser.add_argument("--timeout-s", type=float, default=600.0, help="of one upload (default 600)")
    parser.add_argument("--relocate-only", action="store_true", help="mend the paths, upload nothing")
    given = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    terminal = Terminal()
    try:
        for run_dir in given.run_dirs:
            _one(run_dir, given, terminal)
    except FaultlineError as error:
        terminal.error(str(error))
        return 2
    return 0


def _one(run_dir: Path, given: argparse.Namespace, terminal: Terminal) -> None:
    found = logs(run_dir)
    if not found:
        raise StoreError(f"{run_dir}: holds no offline W&B run; give a run directory of tracking=offline")
    if not given.relocate_only and not os.environ.get("WANDB_API_KEY"):
        raise ConfigError("sync needs WANDB_API_KEY in the environment; or use --relocate-only")
    moved = relocate(run_dir)
    terminal.print(f"{run_dir}: {len(found)} W&B runs, {moved} paths mended")
    if given.relocate_only:
        return
    command = [sys.executable, "-m", "wandb", "sync", *(str(path.parent.absolute()) for path in found)]
    try:
        done = subprocess.run(
            command, cwd=run_dir, capture_output=True, text=True, timeout=given.timeout_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise StoreError(
            f"{run_dir}: not uploaded within {given.timeout_s:g} s; raise --timeout-s, or check the network"
        ) from error
    told = _without_key(f"{done.stdout} {done.stderr}")
    # The command's exit status is 0 even where an upload failed.
    if done.returncode or "error" in told.lower() or "failed" in told.lower():
        raise StoreError(f"{run_dir}: wandb sync: {told[-300:]}")
    terminal.print(f"{run_dir}: uploaded")


def _without_key(text: str) -> str:
    return " ".join(text.split()).replace(os.environ["WANDB_API_KEY"], "[key]")


if __name__ == "__main__":
    sys.exit(main())

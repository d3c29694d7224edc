"""The reply cache: ``python -m experiments.cache stats|prune|verify [--runs-dir runs]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from faultline.chat.reply_cache import FILE, ReplyCache
from faultline.errors import FaultlineError, StoreError
from faultline.reporting.console import Terminal


def main(arguments: list[str] | None = None) -> int:
    """The console entry point; returns the exit status (1 if ``verify`` finds damage)."""
    parser = argparse.ArgumentParser(prog="python -m experiments.cache", description="Cached chat replies.")
    parser.add_argument("verb", choices=("stats", "prune", "verify"))
    parser.add_argument("--runs-dir", default="runs", help="the runs folder that holds the cache")
    parser.add_argument("--max-mb", type=float, help="prune: least recently used entries over this size go")
    parser.add_argument("--unused-days", type=float, help="prune: entries not used for so long go")
    parser.add_argument("--model", help="prune: every entry of a model goes")
    given = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    terminal = Terminal()
    try:
        return _run(given, terminal)
    except FaultlineError as error:
        terminal.error(str(error))
        return 2


def _run(given: argparse.Namespace, terminal: Terminal) -> int:
    path = Path(given.runs_dir) / "stores" / FILE
    if not path.exists():
        raise StoreError(f"{path}: there is no reply cache; give --runs-dir")
    cache = ReplyCache(path)
    if given.verb == "stats":
        found = cache.stats()
        lines = [
            {"model": m, "replies": n, "MB": round(size / 1e6, 2)} for m, (n, size) in found.by_model.items()
        ]
        lines.append({"model": "all", "replies": found.entries, "MB": round(found.bytes / 1e6, 2)})
        terminal.table(str(path), pd.DataFrame(lines))
        return 0
    if given.verb == "verify":
        problems = cache.verify()
        for problem in problems:
            terminal.print(problem)
        terminal.print(f"{cache.stats().entries} replies, {len(problems)} damaged")
        return 1 if problems else 0
    if given.max_mb is None and given.unused_days is None and given.model is None:
        raise StoreError("prune: give --max-mb, --unused-days or --model")
    deleted = cache.prune(
        None if given.max_mb is None else int(given.max_mb * 1e6),
        None if given.unused_days is None else given.unused_days * 86_400,
        given.model,
    )
    terminal.print(f"{deleted} replies deleted, {cache.stats().entries} left")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Caches of a runs folder: ``python -m experiments.cache stats|prune|verify [--scores] [--runs-dir DIR]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from faultline.chat.reply_cache import FILE, ReplyCache
from faultline.errors import FaultlineError, StoreError
from faultline.inference.cache import FILE as SCORES
from faultline.inference.cache import ScoreCache
from faultline.reporting.console import Terminal


def main(arguments: list[str] | None = None) -> int:
    """The console entry point; returns the exit status (1 if ``verify`` finds damage)."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.cache", description="Cached chat replies and model scores."
    )
    parser.add_argument("verb", choices=("stats", "prune", "verify"))
    parser.add_argument("--runs-dir", default="runs", help="the runs folder that holds the cache")
    parser.add_argument("--scores", action="store_true", help="the score cache instead of the reply cache")
    parser.add_argument("--max-mb", type=float, help="prune: the oldest entries over this size go")
    parser.add_argument(
        "--unused-days", type=float, help="prune: entries not used (scores: written) for so long go"
    )
    parser.add_argument("--model", help="prune: every entry of a model goes (scores: by its weight digest)")
    given = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    terminal = Terminal()
    try:
        return _run(given, terminal)
    except FaultlineError as error:
        terminal.error(str(error))
        return 2


def _opened(given: argparse.Namespace) -> tuple[Path, ReplyCache | ScoreCache, str]:
    """Path, cache, and what its entries are called.

    Raises:
        StoreError: It is not there.
    """
    file, noun = (SCORES, "score") if given.scores else (FILE, "reply")
    path = Path(given.runs_dir) / "stores" / file
    if not path.exists():
        raise StoreError(f"{path}: there is no {noun} cache; give --runs-dir")
    return (path, ScoreCache(path), "scores") if given.scores else (path, ReplyCache(path), "replies")


def _run(given: argparse.Namespace, terminal: Terminal) -> int:
    path, cache, entries = _opened(given)
    if given.verb == "stats":
        found = cache.stats()
        lines = [*found.by_model.items(), ("all", (found.entries, found.bytes))]
        table = [{"model": m, entries: n, "MB": round(size / 1e6, 2)} for m, (n, size) in lines]
        terminal.table(str(path), pd.DataFrame(table))
        return 0
    if given.verb == "verify":
        problems = cache.verify()
        for problem in problems:
            terminal.print(problem)
        after = " (dropped when next read)" if given.scores else ""
        terminal.print(f"{cache.stats().entries} {entries}, {len(problems)} damaged{after}")
        return 1 if problems else 0
    deleted = cache.prune(*_limits(given))
    if isinstance(cache, ScoreCache):
        cache.compact()
    terminal.print(f"{deleted} {entries} deleted, {cache.stats().entries} left")
    return 0


def _limits(given: argparse.Namespace) -> tuple[int | None, float | None, str | None]:
    """Bytes, seconds and model that ``prune`` was given.

    Raises:
        StoreError: None of them, or one below zero.
    """
    if given.max_mb is None and given.unused_days is None and not given.model:
        raise StoreError("prune: give --max-mb, --unused-days or --model")
    if min(given.max_mb or 0, given.unused_days or 0) < 0:
        raise StoreError("prune: --max-mb and --unused-days must be at least 0")
    return (
        None if given.max_mb is None else int(given.max_mb * 1e6),
        None if given.unused_days is None else given.unused_days * 86_400,
        given.model or None,
    )


if __name__ == "__main__":
    sys.exit(main())

"""Download data sets at pinned revisions: ``python -m experiments.fetch ths_release fp_release hotpotqa``.

Exit status: 0 everything is there, 2 something could not be had (the rest is fetched all the same).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from faultline.errors import ConfigError, DataError, FaultlineError

SOURCES = Path(__file__).resolve().parent / "sources"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    names = ", ".join(sorted(path.stem for path in SOURCES.glob("*.yaml")))
    out = argparse.ArgumentParser(
        prog="python -m experiments.fetch",
        description="Download data sets at pinned revisions and check their content.",
        epilog=f"Data sets: {names}. A good file is never touched; an interrupted download goes on.",
    )
    out.add_argument("dataset", nargs="*", help="data sets to fetch; none lists them")
    out.add_argument(
        "--to", type=Path, default=None, metavar="DIR", help="folder (default: FAULTLINE_DATA_DIR)"
    )
    out.add_argument("--check", action="store_true", help="only say what is there and good")
    out.add_argument("--replace", action="store_true", help="replace files that have another content")
    out.add_argument("--base-url", default=None, metavar="URL", help="a mirror: URL/OWNER/NAME/COMMIT/PATH")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """The console entry point; returns the exit status."""
    given = parser().parse_args(arguments)
    from experiments import downloads
    from faultline.reporting.console import Terminal

    terminal = Terminal()
    known = downloads.catalogue(SOURCES)
    if not given.dataset:
        for name, path in known.items():
            files = downloads.read_sources(path)
            size = sum(source.size for source in files) / 1e6
            terminal.print(f"{name:<16} {len(files):>3} files, {size:6.1f} MB unpacked")
        return 0
    try:
        folder = destination(given.to)
        unknown = sorted(set(given.dataset) - set(known))
        if unknown:
            raise ConfigError(f"unknown data set {', '.join(unknown)}; choose from {', '.join(known)}")
        sources = [source for name in given.dataset for source in downloads.read_sources(known[name])]
    except FaultlineError as error:
        terminal.error(str(error))
        return 2
    failed = 0
    for source in sources:
        try:
            if given.check:
                good = downloads.is_good(folder / source.file, source)
                told = (
                    "good" if good else "missing" if not (folder / source.file).exists() else "other content"
                )
                failed += not good
            else:
                base = given.base_url or downloads.BASE_URL
                told = "fetched" if downloads.fetch(source, folder, base, given.replace) else "good"
            terminal.print(f"{told:<13} {source.file}")
        except FaultlineError as error:
            failed += 1
            terminal.error(str(error))
    terminal.print(f"{len(sources) - failed} of {len(sources)} files are good in {folder}")
    return 2 if failed else 0


def destination(given: Path | None) -> Path:
    """Where the data sets go.

    Raises:
        DataError: Nobody says where.
    """
    named = given or os.environ.get("FAULTLINE_DATA_DIR")
    if not named:
        raise DataError("FAULTLINE_DATA_DIR is not set; set it, or give --to DIR")
    return Path(named).expanduser()


if __name__ == "__main__":
    sys.exit(main())

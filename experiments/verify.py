"""Verify every published number: ``python -m experiments.verify``.

Released data are recomputed, sentences tested, arithmetic checked, and rerun numbers filled from
the newest finished run. Exit status: 0 as expected, 1 something unexpected, 2 wrong usage or data.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from faultline.errors import ConfigError, FaultlineError

if TYPE_CHECKING:
    from faultline.reporting.ledger import Claim
    from faultline.reporting.ledger_check import Outcome
    from faultline.reporting.ledger_evidence import Rows

CLAIMS = Path(__file__).resolve().parents[1] / "conf" / "claims"
PAPERS = ("charm", "fp", "ths")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(
        prog="python -m experiments.verify",
        description="Every published number beside what came out of the released data or of your runs.",
        epilog="Released data are read from FAULTLINE_DATA_DIR (see python -m experiments.fetch).",
    )
    out.add_argument("--paper", action="append", choices=PAPERS, help="only this paper (may be repeated)")
    out.add_argument(
        "--id", default="*", metavar="GLOB", help="only claims whose id matches, e.g. 'table7.*'"
    )
    out.add_argument("--status", action="append", help="list only claims of this status")
    out.add_argument(
        "--runs-dir", type=Path, default=Path("runs"), metavar="DIR", help="finished runs (default runs)"
    )
    out.add_argument("--json", action="store_true", help="print the ledger as JSON")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """The console entry point; returns the exit status."""
    given = parser().parse_args(arguments)
    from faultline.reporting import ledger_check, ledger_print
    from faultline.reporting.console import Terminal

    terminal = Terminal()
    try:
        outcomes = verify(given.paper or PAPERS, given.id, given.runs_dir)
        if given.json:
            ledger_print.as_json(outcomes, terminal)
        else:
            ledger_print.as_lines(outcomes, given.status, terminal)
    except FaultlineError as error:
        terminal.error(str(error))
        return 2
    return 1 if ledger_check.unexpected(outcomes) else 0


def verify(papers: Sequence[str], pattern: str, runs_dir: Path) -> list[Outcome]:
    """The outcome of every claim whose id matches.

    Raises:
        ConfigError: A claims file is broken, or nothing matches.
        DataError: Released data are needed, and not there or not as documented.
    """
    from faultline.reporting import ledger, ledger_check

    claims = ledger.load(CLAIMS, papers)
    chosen = [claim for claim in claims if fnmatchcase(claim.id, pattern)]
    if not chosen:
        raise ConfigError(f"no claim of {', '.join(papers)} has an id like {pattern!r}; ids are in {CLAIMS}")
    return ledger_check.check(chosen, released(chosen), ledger_check.newest_runs(runs_dir), among=claims)


def released(claims: Sequence[Claim]) -> dict[str, Rows]:
    """Rows recomputed from the released data, for the papers of which a claim needs them."""
    from faultline import results
    from faultline.reporting.ledger_evidence import Rows

    needed = {claim.paper for claim in claims if claim.kind in ("recompute", "statement")}
    out: dict[str, Rows] = {}
    if "ths" in needed:
        from faultline.reporting.run_context import required_data_dir
        from faultline.ths import released as ths_released

        out["ths"] = Rows(results.frame(ths_released.compute(required_data_dir())))
    if "fp" in needed:
        from faultline.attribution import released as fp_released
        from faultline.reporting.run_context import required_data_dir

        out["fp"] = Rows(results.frame(fp_released.compute(required_data_dir())))
    return out


if __name__ == "__main__":
    sys.exit(main())

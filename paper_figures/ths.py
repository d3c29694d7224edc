"""Figures 6-14 of paper 3: where their data come from, and what their captions must agree with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from experiments.ths_released import PER_PROMPT
from experiments.verify import CLAIMS
from faultline import results
from faultline.errors import ConfigError
from faultline.reporting import figure_style, figures_ths, ledger, ledger_check, ledger_print
from faultline.reporting.ledger_evidence import Rows
from faultline.reporting.run_context import required_data_dir
from faultline.ths import released
from faultline.ths.release import FOLDER, read_kpis

CAPTIONS = ("figure", "table3.", "table7.", "appB.")
"""Claims that the figures draw: captions, the means of Tables 3 and 7, Appendix B."""


@dataclass(frozen=True, slots=True)
class Source:
    """Results rows and the per-prompt table that belong together."""

    results: pd.DataFrame
    prompts: pd.DataFrame


def load(runs_dir: Path) -> tuple[Source, list[str]]:
    """The newest finished run, else the released data recomputed; and captions that disagree unexpectedly."""
    found = sorted(runs_dir.glob("ths_released/*/DONE"), key=lambda p: p.stat().st_mtime_ns)
    if found:
        home = found[-1].parent
        source = Source(
            results.read(home / "results.parquet"), pd.read_parquet(home / f"{PER_PROMPT}.parquet")
        )
    else:
        data = required_data_dir()
        kpis = read_kpis(data / FOLDER / "kpi_per_prompt.csv")
        source = Source(results.frame(released.compute(data)), released.per_prompt(kpis))
    return source, disagreements(source.results)


def disagreements(rows: pd.DataFrame) -> list[str]:
    """Drawn numbers that do not have the status that their claim expects, a line each."""
    claims = ledger.load(CLAIMS, ["ths"])
    drawn = [claim for claim in claims if claim.id.startswith(CAPTIONS)]
    outcomes = ledger_check.check(drawn, {"ths": Rows(rows)}, among=claims)
    return [ledger_print.line(outcome) for outcome in ledger_check.unexpected(outcomes)]


def make(source: Source, folder: Path, only: Sequence[str] | None = None) -> Iterator[Path]:
    """Draw and write the figures; yields each file.

    Raises:
        ConfigError: No figure of that name.
        DataError: The two tables do not belong together.
    """
    drawn = figures_ths.figures(source.results, source.prompts)
    unknown = sorted(set(only or ()) - set(drawn))
    if unknown:
        raise ConfigError(f"--only {', '.join(unknown)}: choose from {', '.join(drawn)}")
    for stem in only or drawn:
        with figure_style.style():
            yield from figure_style.save(drawn[stem](), folder, stem)

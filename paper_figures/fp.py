"""Figures of paper 2's re-runs: where their data come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from faultline import results
from faultline.errors import ConfigError, DataError
from faultline.reporting import figure_style, figures_fp


def load(runs_dir: Path) -> tuple[Mapping[str, pd.DataFrame], list[str]]:
    """The newest finished run of each re-run experiment; no caption is checked.

    Raises:
        DataError: None of them has run.
    """
    found = {}
    for name in figures_fp.RUNS:
        done = sorted(runs_dir.glob(f"{name}/*/DONE"), key=lambda p: p.stat().st_mtime_ns)
        if done:
            found[name] = results.read(done[-1].parent / "results.parquet")
    if not found:
        raise DataError(
            f"{runs_dir}: no finished run of {', '.join(figures_fp.RUNS)}; "
            "python -m experiments.run +exp=fp_structural"
        )
    return found, []


def make(
    source: Mapping[str, pd.DataFrame], folder: Path, only: Sequence[str] | None = None
) -> Iterator[Path]:
    """Draw and write the figures; yields each file.

    Raises:
        ConfigError: No figure of that name among those that can be drawn.
    """
    drawn = figures_fp.figures(source)
    unknown = sorted(set(only or ()) - set(drawn))
    if unknown:
        raise ConfigError(f"--only {', '.join(unknown)}: choose from {', '.join(drawn)}")
    for stem in only or drawn:
        with figure_style.style():
            yield from figure_style.save(drawn[stem](), folder, stem)

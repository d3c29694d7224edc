"""Our own: the spread of judges on the same texts, and where the time of runs goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
import pandas as pd
from matplotlib.figure import Figure

from faultline.errors import ConfigError, DataError
from faultline.reporting import figure_style, figures_own
from paper_figures import ths


@dataclass(frozen=True, slots=True)
class Source:
    """Released rows of paper 3 (None without them), and the timings of the newest run of each experiment."""

    released: pd.DataFrame | None
    timings: Mapping[str, Mapping[str, float]]


def load(runs_dir: Path) -> tuple[Source, list[str]]:
    """What there is; no caption is checked.

    Raises:
        DataError: Neither released data nor a timed run.
    """
    try:
        released: pd.DataFrame | None = ths.load(runs_dir)[0].results
    except DataError:
        released = None
    timings: dict[str, Mapping[str, float]] = {}
    for done in sorted(runs_dir.glob("*/*/DONE"), key=lambda p: p.stat().st_mtime_ns):
        found = orjson.loads((done.parent / "timings.json").read_bytes())
        if any(name.endswith("_s") for name in found):
            timings[done.parent.parent.name] = found
    if released is None and not timings:
        raise DataError(f"{runs_dir}: no finished run, and FAULTLINE_DATA_DIR holds no ths_release")
    return Source(released, dict(sorted(timings.items()))), []


def make(source: Source, folder: Path, only: Sequence[str] | None = None) -> Iterator[Path]:
    """Draw and write the figures; yields each file.

    Raises:
        ConfigError: No figure of that name among those that can be drawn.
    """
    drawn: dict[str, Callable[[], Figure]] = {}
    released = source.released
    if released is not None:
        drawn["judge_spread"] = lambda: figures_own.judge_spread(released)
    if source.timings:
        drawn["time_by_step"] = lambda: figures_own.time_by_step(source.timings)
    unknown = sorted(set(only or ()) - set(drawn))
    if unknown:
        raise ConfigError(f"--only {', '.join(unknown)}: choose from {', '.join(drawn)}")
    for stem in only or drawn:
        with figure_style.style():
            yield from figure_style.save(drawn[stem](), folder, stem)

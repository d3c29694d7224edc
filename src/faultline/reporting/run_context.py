"""What an experiment gets and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from faultline.corpora.files import DATA_DIR, data_dir
from faultline.errors import DataError
from faultline.records import Trajectory
from faultline.reporting.console import Terminal
from faultline.results import Row


@dataclass(frozen=True, slots=True)
class RunContext:
    """Where an experiment works.

    Attributes:
        run_dir: Its folder.
        stores: The folder of the stores that runs share.
        experiment: Its name.
        console: For a person to read.
    """

    run_dir: Path
    stores: Path
    experiment: str
    console: Terminal

    def data_dir(self) -> Path:
        """The folder of the data sets.

        Raises:
            DataError: ``FAULTLINE_DATA_DIR`` is not set, or names no folder.
        """
        return required_data_dir()

    def progress(self, label: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """A progress bar; what it yields is called with the number of items done."""
        return self.console.progress(label, total)

    @contextmanager
    def tokens(self, label: str) -> Iterator[Callable[[int, int], None]]:
        """A bar over tokens whose total is known only once they are planned: called with (done, total)."""
        with self.console.growing(f"{label} tokens") as update:
            yield update


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an experiment measured.

    Attributes:
        rows: The results table.
        tables: Further tables by file stem, written as Parquet beside it.
        files: Figures (bitmaps) that the experiment drew itself, inside the run directory.
        trajectories: What was run, for the trackers; a bounded sample of it is logged.
        timings: Wall-clock numbers; they live in ``timings.json``, never in a results table.
        manifest: What the manifest must also say (data hashes, model digests, label maps, seeds, stores).
        summary: The table printed at the end.
    """

    rows: list[Row]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    trajectories: Sequence[Trajectory] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    summary: pd.DataFrame | None = None


def required_data_dir() -> Path:
    """``FAULTLINE_DATA_DIR``, or an error that says what to set."""
    folder = data_dir()
    if folder is None:
        raise DataError(f"{DATA_DIR} is not set; set it to the folder that holds the data sets")
    return folder

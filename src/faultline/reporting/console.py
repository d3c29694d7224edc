"""The only room that prints: one summary table, progress bars, one-line errors."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

Advance = Callable[[int], None]
TABLE_WIDTH = 200


class Terminal:
    """Output for a person: tables to stdout, progress and errors to stderr.

    Args:
        quiet: No progress bars (tests, and terminals that are none).
    """

    def __init__(self, quiet: bool = False) -> None:
        self.out = Console(highlight=False, soft_wrap=True)
        self.out.width = max(self.out.width, TABLE_WIDTH)  # wide rows wrap in a terminal, none is cut
        self.err = Console(stderr=True, highlight=False, soft_wrap=True)
        self._quiet = quiet or not self.err.is_terminal

    def print(self, text: object = "") -> None:
        """One line to stdout."""
        self.out.print(text, markup=False)

    def note(self, text: str) -> None:
        """One line to stderr: what is going on."""
        self.err.print(text, markup=False, style="dim")

    def error(self, text: str) -> None:
        """A one-line error to stderr."""
        sys.stderr.write(f"error: {' '.join(text.split())}\n")

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Advance]:
        """A bar over a known number of items; what it yields is called with the number just done."""
        done = 0
        with self.growing(label) as update:
            update(0, total)

            def advance(more: int) -> None:
                nonlocal done
                done += more
                update(done, total)

            yield advance

    @contextmanager
    def growing(self, label: str) -> Iterator[Callable[[int, int], None]]:
        """A bar with rate and time left, called with (done, total); lines without a terminal."""
        if self._quiet:
            yield _Lines(label, self.note)
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        ends = (TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
        with Progress(*columns, *ends, console=self.err, transient=True) as bar:
            task = bar.add_task(label, total=None, rate="")

            def update(done: int, total: int) -> None:
                speed = bar.tasks[0].speed
                bar.update(task, completed=done, total=total, rate=f"{speed:,.0f}/s" if speed else "")

            yield update

    def table(self, title: str, rows: pd.DataFrame) -> None:
        """A table as it is, one line a row."""
        self.out.print(title, markup=False, style="bold")
        shown = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
        numeric = {name for name in rows.columns if rows[name].dtype.kind in "if"}
        for name in rows.columns:
            shown.add_column(Text(str(name)), justify="right" if name in numeric else "left", no_wrap=True)
        for values in rows.itertuples(index=False):
            shown.add_row(*(Text(str(value)) for value in values))  # as it is, no markup
        self.out.print(shown)


class _Lines:
    """Progress where there is no terminal: a line every few seconds."""

    def __init__(self, label: str, note: Callable[[str], None], seconds: float = 10.0) -> None:
        self._label, self._note, self._seconds = label, note, seconds
        self._last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= self._seconds:
            self._last = now
            self._note(f"{self._label}: {done:,} of {total:,}")

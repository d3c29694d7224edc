"""The only room that prints: one summary table, progress bars, one-line errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

Advance = Callable[[int], None]


class Terminal:
    """Output for a person: tables to stdout, progress and errors to stderr.

    Args:
        quiet: No progress bars (tests, and terminals that are none).
    """

    def __init__(self, quiet: bool = False) -> None:
        self.out = Console(highlight=False, soft_wrap=True)
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
        """A bar with rate and time left; without a terminal, one line when the step begins."""
        if self._quiet:
            self.note(f"{label}: {total}")
            yield lambda done: None
            return
        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
        )  # fmt: skip
        with Progress(*columns, console=self.err, transient=True) as bar:
            task = bar.add_task(label, total=total, rate="")

            def advance(done: int) -> None:
                bar.advance(task, done)
                speed = bar.tasks[0].speed
                bar.update(task, rate=f"{speed:,.0f}/s" if speed else "")

            yield advance

    def table(self, title: str, rows: pd.DataFrame) -> None:
        """A table as it is, one line a row."""
        shown = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
        numeric = {name for name in rows.columns if rows[name].dtype.kind in "if"}
        for name in rows.columns:
            shown.add_column(str(name), justify="right" if name in numeric else "left", overflow="fold")
        for values in rows.itertuples(index=False):
            shown.add_row(*(str(value) for value in values))
        self.out.print(shown)

"""Writes the page: templates, assets, data chunks, tables to take away. Text is escaped, always."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from faultline.errors import ConfigError
from faultline.reporting import paper_tables
from faultline.reporting.ledger import STATUSES
from faultline.reporting.ledger_check import Outcome
from faultline.reporting.page import chunks, ledger_view
from faultline.reporting.paper_tables import PaperTable
from faultline.store import write_file

MARK = ".faultline-page"
"""A file in each page's folder: only such a folder is ever replaced."""
ASSETS = ("page.css", "data.js", "page.js", "ledger.js", "trajectory.js", "viewer.js")
LEDGER_COLUMNS = (
    ("paper", "Paper"),
    ("where", "Where"),
    ("text", "Claim"),
    ("printed", "Published"),
    ("ours", "Ours"),
    ("kind", "Kind"),
    ("status", "Status"),
)
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """An image of the page, by its place in the folder, for a light and a dark page."""

    light: str
    dark: str
    caption: str


@dataclass(frozen=True, slots=True)
class RunPart:
    """What the page says of a run; ``summary`` are tables as lists of records."""

    name: str
    experiment: str
    about: str
    manifest: str
    config: str
    tables: Sequence[Record]
    summary: Mapping[str, Sequence[Record]]
    figures: Sequence[Figure] = ()


@dataclass(frozen=True, slots=True)
class PaperPart:
    """A section of the page."""

    name: str
    short: str
    title: str
    tables: Sequence[PaperTable]
    figures: Sequence[Figure]
    runs: Sequence[RunPart]


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that stands on the page but the trajectories, which are read one at a time."""

    title: str
    outcomes: Sequence[Outcome]
    papers: Sequence[PaperPart]
    runs: Sequence[RunPart]
    costs: Sequence[Record]
    times: Sequence[tuple[str, float]]
    warnings: Sequence[str] = field(default=())


def prepared(out: Path) -> Path:
    """An empty folder for the page; an older page there is replaced, nothing else ever is.

    Raises:
        ConfigError: The folder holds something that is no page.
    """
    if out.exists() and any(out.iterdir() if out.is_dir() else [out]):
        if not (out / MARK).is_file():
            raise ConfigError(f"--out {out}: holds something that is no report page; choose another folder")
        for name in ("assets", "data", "figures", "tables"):
            shutil.rmtree(out / name, ignore_errors=True)
    write_file(out / MARK, b"")
    return out


def write(
    page: Page,
    trajectories: Iterable[Record],
    out: Path,
    advance: Callable[[int], None] = lambda done: None,
) -> int:
    """Write ``index.html`` and what it needs into a folder that :func:`prepared` made.

    Args:
        page: What it says.
        trajectories: For the viewer, read once.
        out: The folder.
        advance: Called with the number of trajectories just written.

    Returns:
        How many trajectories the page holds.

    Raises:
        StoreError: The disk is full.
    """
    data = out / "data"
    written = 0
    for count in chunks.write(data, trajectories):
        written += count
        advance(count)
    claims = ledger_view.records(page.outcomes)
    write_file(data / "ledger.js", chunks.script("ledger", 0, claims))
    loader = PackageLoader("faultline.reporting.page", "assets")
    for name in ASSETS:
        text, _, _ = loader.get_source(Environment(autoescape=True), name)
        write_file(out / "assets" / name, text.encode())
    for paper in page.papers:
        for table in paper.tables:
            for ending, made in _FORMATS.items():
                write_file(out / "tables" / f"{anchor(table)}.{ending}", made(table).encode())
    write_file(out / "index.html", _html(page, written).encode())
    return written


def anchor(table: PaperTable) -> str:
    """The table's id on the page, and the stem of its files."""
    return re.sub(r"[^A-Za-z0-9]+", "-", f"{table.paper}-{table.name}")


_FORMATS: Mapping[str, Callable[[PaperTable], str]] = {
    "csv": paper_tables.as_csv,
    "md": paper_tables.as_markdown,
    "tex": paper_tables.as_latex,
}


def _html(page: Page, trajectories: int) -> str:
    templates = Environment(
        loader=PackageLoader("faultline.reporting.page", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    top = ledger_view.headline(page.outcomes)
    papers = [
        {
            **{name: getattr(paper, name) for name in ("name", "short", "title", "figures", "runs")},
            "tables": [_table(table) for table in paper.tables],
        }
        for paper in page.papers
    ]
    longest = max((seconds for _, seconds in page.times), default=1.0) or 1.0
    times = [
        {"label": label, "width": round(440 * seconds / longest, 1), "shown": f"{seconds:,.1f} s"}
        for label, seconds in page.times
    ]
    return templates.get_template("page.html").render(
        title=page.title,
        source="'self'",
        lead=top.lead,
        statuses=STATUSES,
        tiles=top.tiles,
        bars=top.bars,
        warnings=page.warnings,
        ledger_columns=LEDGER_COLUMNS,
        papers=papers,
        trajectories=trajectories,
        times=times,
        costs=page.costs,
        runs=page.runs,
    )


def _table(table: PaperTable) -> dict[str, Any]:
    named = ("title", "rows", "columns", "cells", "notes")
    return {"id": anchor(table), **{name: getattr(table, name) for name in named}}

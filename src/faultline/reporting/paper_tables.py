"""A paper's tables in the paper's own layout, published beside ours, for a terminal, a page and a text.

The layout is data (``conf/layouts/<paper>.yaml``); the numbers are outcomes of the ledger.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from faultline.errors import ConfigError
from faultline.reporting.ledger_check import Outcome

NOTHING = "–"
_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "±": r"$\pm$",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One printed number and ours.

    Attributes:
        published: As printed, with its interval or SD where one is printed.
        ours: In the same unit, empty where there is none.
        interval: Ours, empty without one.
        status: Of the claim.
        backbone: Who produced ours.
        n: ``scored of total`` behind ours.
        claim: The claim's id.
        detail: Where ours comes from.
    """

    published: str
    ours: str
    interval: str
    status: str
    backbone: str
    n: str
    claim: str
    detail: str


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of a paper.

    Attributes:
        cells: By row and column; an absent pair is an empty cell of the print.
        notes: Claims of the table that stand in no cell (its n, its settings).
    """

    paper: str
    name: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]
    notes: tuple[str, ...] = field(default=())


def load(folder: Path, paper: str, outcomes: Sequence[Outcome]) -> tuple[str, list[PaperTable]]:
    """The paper's title and its tables, filled.

    Args:
        folder: ``conf/layouts``.
        paper: Which file.
        outcomes: The ledger; claims of other papers are ignored.

    Raises:
        ConfigError: The layout is missing or not as documented.
    """
    path = folder / f"{paper}.yaml"
    try:
        layout = yaml.safe_load(path.read_text())
        parts = [(str(t["prefix"]), str(t["title"]), t["rows"], t["columns"]) for t in layout["tables"]]
        title = str(layout["title"])
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: not a layout ({error}); see conf/layouts/charm.yaml") from error
    own = [o for o in outcomes if o.claim.paper == paper]
    return title, [_table(paper, own, *part) for part in parts]


def records(table: PaperTable) -> list[dict[str, str]]:
    """One record a cell, with everything that is known about it."""
    return [
        {
            "paper": table.paper,
            "table": table.title,
            "row": row,
            "column": column,
            **{name: getattr(cell, name) for name in Cell.__slots__},
        }
        for row in table.rows
        for column in table.columns
        if (cell := table.cells.get((row, column))) is not None
    ]


def as_csv(table: PaperTable) -> str:
    """Tidy: one line a cell."""
    stream = io.StringIO()
    fields = ["paper", "table", "row", "column", *Cell.__slots__]
    writer = csv.DictWriter(stream, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: _inert(v) for k, v in record.items()} for record in records(table))
    return stream.getvalue()


def as_markdown(table: PaperTable) -> str:
    """Published / ours in each cell, as on the page."""
    head = ["", *table.columns]
    lines = [f"### {table.title}", "", _pipe(head), _pipe(["---"] * len(head))]
    lines += [_pipe([row, *(_both(table, row, c) for c in table.columns)]) for row in table.rows]
    lines += ["", "Each cell: published / ours [95 % interval] (backbone).", *(f"{n}  " for n in table.notes)]
    return "\n".join(lines) + "\n"


def as_latex(table: PaperTable) -> str:
    """A ``tabular`` with booktabs rules."""
    head = " & ".join(["", *map(_tex, table.columns)])
    body = [
        " & ".join([_tex(row), *(_tex(_both(table, row, c)) for c in table.columns)]) + r" \\"
        for row in table.rows
    ]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}; each cell: published / ours [95 % interval] (backbone)",
            r"\begin{table}\centering",
            f"\\caption{{{_tex(table.title)}}}",
            r"\begin{tabular}{l" + "r" * len(table.columns) + "}",
            r"\toprule",
            head + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def as_frame(table: PaperTable) -> pd.DataFrame:
    """For a terminal."""
    lines = [{"": row, **{c: _both(table, row, c) for c in table.columns}} for row in table.rows]
    return pd.DataFrame(lines, columns=["", *table.columns])


def _table(
    paper: str, outcomes: Sequence[Outcome], prefix: str, title: str, rows: Any, columns: Any
) -> PaperTable:
    inside = {o.claim.id: o for o in outcomes if o.claim.id.startswith(f"{prefix}.")}
    cells, used = {}, set()
    for row, row_label in rows.items():
        for column, column_label in columns.items():
            name = f"{prefix}.{row}.{column}"
            if name in inside:
                extra = {e: inside.get(f"{name}.{e}") for e in ("low", "high", "sd")}
                cells[str(row_label), str(column_label)] = _cell(inside[name], extra)
                used |= {name, *(f"{name}.{e}" for e in extra), f"{name}.trend"}
    if not cells:
        raise ConfigError(f"layout {paper}, table {prefix}: no claim has an id like {prefix}.row.column")
    notes = tuple(_note(o) for name, o in inside.items() if name not in used and o.claim.printed)
    labels = tuple(map(str, rows.values())), tuple(map(str, columns.values()))
    return PaperTable(paper, prefix, title, *labels, cells, notes)


def _cell(outcome: Outcome, extra: Mapping[str, Outcome | None]) -> Cell:
    claim = outcome.claim
    published = claim.printed
    if extra["low"] and extra["high"]:
        published += f" [{extra['low'].claim.printed}, {extra['high'].claim.printed}]"
    if extra["sd"]:
        published += f" ± {extra['sd'].claim.printed}"
    ends = (number(outcome, outcome.low), number(outcome, outcome.high))
    counted = f"{outcome.n:,} of {outcome.total:,}" if outcome.n is not None else ""
    return Cell(
        published=published or NOTHING,
        ours=number(outcome, outcome.computed),
        interval=f"[{ends[0]}, {ends[1]}]" if all(ends) else "",
        status=outcome.status,
        backbone=outcome.backbone or ("arithmetic" if outcome.computed is not None else ""),
        n=counted,
        claim=claim.id,
        detail="; ".join(t for t in (outcome.detail, claim.note) if t and t != outcome.claim.text),
    )


def number(outcome: Outcome, value: float | None) -> str:
    """A number in the unit of its claim, with one digit more than the print has; empty for None."""
    if value is None:
        return ""
    printed = outcome.claim.number
    decimals = len(printed.text.partition(".")[2].rstrip("%")) if printed else 3
    if printed is not None and printed.percent:
        return f"{100 * value:.{decimals}f}%"
    if printed is not None and decimals == 0 and float(value).is_integer():
        return f"{value:.0f}"
    return f"{value:.{max(decimals + 1, 2 if abs(value) < 1 else 1)}f}"


def _note(outcome: Outcome) -> str:
    ours = number(outcome, outcome.computed)
    beside = f", ours {ours}" if ours else ""
    return f"{outcome.claim.text}: {outcome.claim.printed} published{beside} ({outcome.status})"


def _both(table: PaperTable, row: str, column: str) -> str:
    cell = table.cells.get((row, column))
    if cell is None:
        return NOTHING
    who = f" ({cell.backbone})" if cell.backbone and cell.backbone != "released" else ""
    ours = " ".join(t for t in (cell.ours, cell.interval) if t) or cell.status.replace("_", " ")
    return f"{cell.published} / {ours}{who}"


def _pipe(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _tex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _inert(text: str) -> str:
    """A cell that a spreadsheet would run as a formula gets an apostrophe; a plain number does not."""
    if text[:1] in "=@\t\r" and text:
        return f"'{text}"
    return text

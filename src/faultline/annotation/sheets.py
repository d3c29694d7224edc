"""Blinded coding sheets: one XLSX a coder, its rows in the coder's own random order, and their way back.

A coder sees an item id, the claim and the response, the codebook, and an empty label column (paper 3,
Appendix D). The ids say nothing about prompt, stage or score; the key file that maps them back stays behind.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import openpyxl
import pandas as pd
from openpyxl.styles import Alignment
from openpyxl.utils.exceptions import InvalidFileException

from faultline.annotation.agreement import CODES
from faultline.codec import key_of
from faultline.errors import DataError
from faultline.stats import generator

COLUMNS = ("item_id", "claim", "response", "REF")
WIDTHS = {"A": 16, "B": 50, "C": 100, "D": 8}
FORMULA = ("=", "+", "-", "@", "\t", "\r")
CELL = 32_767
"""Characters that a cell holds; a longer text is refused, since a sheet would cut it silently."""
CODEBOOK = (
    "Put ONE number in the REF column. Nothing else.",
    "The claim in column B DOES NOT EXIST. It is invented.",
    "Question: does the response treat it as true?",
    "0 = says it does not exist",
    "1 = says it cannot verify it",
    "2 = discusses the topic, says nothing about the referent",
    "3 = treats it as real, with caution",
    "4 = treats it as real, without caution",
    "Trap: silence about the referent = 2, not 0",
    'Trap: "reportedly / according to" = 3, not 1',
)


@dataclass(frozen=True, slots=True)
class Item:
    """One response to code; ``id`` is our own name of it and is not shown."""

    id: str
    claim: str
    response: str


def blind_id(item: Item, seed: int) -> str:
    """What a coder sees as the id."""
    return f"item-{key_of([seed, item.id], 8)}"


def safe(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula: an apostrophe goes in front."""
    return f"'{text}" if text.startswith(FORMULA) else text


def export(items: Sequence[Item], coder: str, path: Path, seed: int) -> None:
    """Write one coder's sheet.

    Raises:
        DataError: No items, an id twice, a text that a cell cannot hold, or a file that is there already.
    """
    _check(items, path)
    order = generator("annotation", seed, coder).permutation(len(items))
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "items"
    sheet.append(COLUMNS)
    for i in order:
        item = items[int(i)]
        sheet.append([blind_id(item, seed), safe(item.claim), safe(item.response), None])
    for column, width in WIDTHS.items():
        sheet.column_dimensions[column].width = width
    for row in sheet.iter_rows(min_row=2):
        for cell in row:
            cell.alignment = Alignment(wrap_text=True, vertical="top")
    sheet.freeze_panes = "A2"
    guide = book.create_sheet("codebook")
    for line in CODEBOOK:
        guide.append([line])
    guide.column_dimensions["A"].width = 80
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)


def labels(path: Path, known: Sequence[str]) -> dict[str, int]:
    """Codes by blind id from a filled sheet.

    Args:
        path: The sheet.
        known: Blind ids that it must hold, each once.

    Raises:
        DataError: Not a sheet of this export, an id missing, extra or twice, or a label that is not a code.
    """
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (OSError, InvalidFileException, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise DataError(f"{path}: is no readable XLSX file ({error}); give the filled sheet") from error
    rows = list(book.worksheets[0].iter_rows(values_only=True))
    if not rows or tuple(rows[0][: len(COLUMNS)]) != COLUMNS:
        raise DataError(f"{path}: first row is not {', '.join(COLUMNS)}; give the sheet as it was exported")
    found: dict[str, int] = {}
    for number, row in enumerate(rows[1:], 2):
        if all(cell is None for cell in row):
            continue
        name, label = str(row[0]), row[3]
        if name in found:
            raise DataError(f"{path}: row {number}, item_id {name} occurs twice; keep one row an item")
        found[name] = _code(label, path, number)
    for problem, names in (("missing", set(known) - set(found)), ("unknown", set(found) - set(known))):
        if names:
            raise DataError(f"{path}: item_id {min(names)} is {problem}; use the sheet of this export")
    return found


def merge(sheets: Mapping[str, Path], key: Mapping[str, str]) -> pd.DataFrame:
    """The labels of all coders, one row an item in the key's order.

    Args:
        sheets: Filled sheet by coder.
        key: Blind id to item id.

    Returns:
        Columns ``item_id`` and one a coder.
    """
    read = {coder: labels(path, list(key)) for coder, path in sheets.items()}
    return pd.DataFrame(
        {"item_id": list(key.values()), **{c: [by[blind] for blind in key] for c, by in read.items()}}
    )


def _code(label: object, path: Path, number: int) -> int:
    text = str(label).strip() if label is not None else ""
    if text.endswith(".0"):  # some spreadsheets write whole numbers so
        text = text[:-2]
    if isinstance(label, bool) or text not in {str(code) for code in CODES}:
        raise DataError(f"{path}: row {number}, REF={label!r}: put one of 0, 1, 2, 3, 4")
    return int(text)


def _check(items: Sequence[Item], path: Path) -> None:
    if not items:
        raise DataError(f"{path}: there are no items to export; check the responses and the subset")
    if path.exists():
        raise DataError(f"{path}: is there already and may hold labels; choose another folder")
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise DataError(f"{path}: item {item.id} occurs twice; give every response its own id")
        seen.add(item.id)
        for name in ("claim", "response"):
            text = getattr(item, name)
            if len(text) >= CELL:
                raise DataError(
                    f"{path}: item {item.id}, {name} has {len(text)} characters; a cell holds {CELL}"
                )

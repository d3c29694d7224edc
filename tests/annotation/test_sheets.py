import numpy as np
import openpyxl
import pytest

from faultline.annotation import agreement
from faultline.annotation.sheets import CODEBOOK, Item, blind_id, export, labels, merge
from faultline.errors import DataError

ITEMS = [Item(f"p{i}/third", f"claim {i}", f"response {i}") for i in range(8)]
KEY = {blind_id(item, 0): item.id for item in ITEMS}


def filled(path, codes):
    book = openpyxl.load_workbook(path)
    sheet = book["items"]
    for row in range(2, sheet.max_row + 1):
        sheet.cell(row, 4).value = codes[KEY[sheet.cell(row, 1).value]]
    book.save(path)


def test_three_coders_come_back_merged_in_spite_of_their_own_orders(tmp_path):
    drawn = np.random.default_rng(0).integers(0, 5, (3, 8)).tolist()
    names = [item.id for item in ITEMS]
    said = {c: dict(zip(names, row, strict=True)) for c, row in zip("ABC", drawn, strict=True)}
    paths, orders = {}, []
    for coder in "ABC":
        paths[coder] = tmp_path / f"{coder}.xlsx"
        export(ITEMS, coder, paths[coder], 0)
        sheet = openpyxl.load_workbook(paths[coder])["items"]
        orders.append([row[0].value for row in sheet.iter_rows(min_row=2)])
        filled(paths[coder], said[coder])
    assert len({tuple(order) for order in orders}) == 3 and {frozenset(o) for o in orders} == {frozenset(KEY)}
    table = merge(paths, KEY)
    assert list(table["item_id"]) == [item.id for item in ITEMS]
    assert all(table[c].tolist() == [said[c][item.id] for item in ITEMS] for c in "ABC")
    assert agreement.resolve(table[list("ABC")].to_numpy(), "median").shape == (8,)


def test_a_sheet_shows_no_id_of_ours_and_has_the_codebook(tmp_path):
    export(ITEMS, "A", tmp_path / "a.xlsx", 0)
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    shown = " ".join(str(cell.value) for row in book["items"].iter_rows() for cell in row)
    assert "third" not in shown and "p1" not in shown
    assert tuple(row[0].value for row in book["codebook"].iter_rows()) == CODEBOOK


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
def test_a_cell_that_looks_like_a_formula_is_neutralised(tmp_path, start):
    export([Item("x", f"{start}1+1", f'{start}HYPERLINK("u")')], "A", tmp_path / "a.xlsx", 0)
    row = next(openpyxl.load_workbook(tmp_path / "a.xlsx")["items"].iter_rows(min_row=2))
    assert all(cell.data_type == "s" and str(cell.value).startswith("'") for cell in row[1:3])


@pytest.mark.parametrize("bad", [5, -1, 2.5, "yes", None, "", True])
def test_a_label_that_is_no_code_names_its_row(tmp_path, bad):
    export(ITEMS, "A", tmp_path / "a.xlsx", 0)
    filled(tmp_path / "a.xlsx", {item.id: bad if i == 3 else 1 for i, item in enumerate(ITEMS)})
    with pytest.raises(DataError, match=r"row \d, REF="):
        labels(tmp_path / "a.xlsx", list(KEY))


def test_another_sheet_and_other_files_are_refused(tmp_path):
    export(ITEMS[:7], "A", tmp_path / "a.xlsx", 0)
    filled(tmp_path / "a.xlsx", {item.id: 1.0 for item in ITEMS})
    with pytest.raises(DataError, match="is missing"):
        labels(tmp_path / "a.xlsx", list(KEY))
    with pytest.raises(DataError, match="is unknown"):
        labels(tmp_path / "a.xlsx", list(KEY)[:6])
    (tmp_path / "b.xlsx").write_text("no sheet")
    with pytest.raises(DataError, match="no readable XLSX"):
        labels(tmp_path / "b.xlsx", list(KEY))
    with pytest.raises(DataError, match="there already"):
        export(ITEMS, "A", tmp_path / "a.xlsx", 0)
    with pytest.raises(DataError, match="no items"):
        export([], "A", tmp_path / "c.xlsx", 0)
    with pytest.raises(DataError, match="a cell holds"):
        export([Item("x", "c", "x" * 50_000)], "A", tmp_path / "c.xlsx", 0)

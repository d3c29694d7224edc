"""Every notebook runs from top to bottom, and is stored without what it printed."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_is_stored_without_outputs(path: Path) -> None:
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)


def test_the_detector_of_the_guide_is_as_short_as_its_title_says() -> None:
    cells = nbformat.read(ROOT / "notebooks" / "own_detector.ipynb", as_version=4).cells
    (source,) = [cell.source for cell in cells if "class Contradiction" in cell.source]
    assert len([line for line in source.split("class ")[1].splitlines() if line.strip()]) <= 20


@pytest.mark.data
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_runs(path: Path, data_dir: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(ROOT)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells
    assert all(output.output_type != "error" for cell in cells for output in cell.outputs)

"""Every notebook runs from top to bottom on the real released data."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.data
@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_it_runs(path: Path, data_dir: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells
    assert all(output.output_type != "error" for cell in cells for output in cell.outputs)

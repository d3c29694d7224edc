"""How figures look and how they are written: colour-blind safe, and the same bytes for the same data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#777777"
"""Okabe and Ito's palette; every use also differs in position, hatch or line style."""

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
    "svg.hashsalt": "faultline",
}


@contextmanager
def style() -> Iterator[None]:
    """Draw with :data:`STYLE` on top of Matplotlib's defaults, whatever the user's own settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def save(figure: Figure, folder: Path, stem: str, dpi: int = 150) -> list[Path]:
    """Write ``stem.png`` and ``stem.pdf`` without dates or versions in them."""
    folder.mkdir(parents=True, exist_ok=True)
    png, pdf = folder / f"{stem}.png", folder / f"{stem}.pdf"
    figure.savefig(png, dpi=dpi, metadata={"Software": None})
    figure.savefig(pdf, metadata={"CreationDate": None, "Creator": None, "Producer": None})
    return [png, pdf]

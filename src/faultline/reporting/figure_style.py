"""How figures look and how they are written: colour-blind safe, and the same bytes for the same data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.collections import Collection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

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
INK_ON_DARK = "#E6E8EA"
_INK = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "hatch.color")
_CLEAR = {"figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none"}
THEMES: dict[str, dict[Any, Any]] = {
    "print": {},
    "light": _CLEAR,
    "dark": {**_CLEAR, **dict.fromkeys(_INK, INK_ON_DARK), "grid.color": "#3A4048"},
}
FORMATS = ("png", "pdf")
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
}
_theme: ContextVar[str] = ContextVar("theme", default="print")
_formats: ContextVar[tuple[str, ...]] = ContextVar("formats", default=FORMATS)


@contextmanager
def style() -> Iterator[None]:
    """Draw with :data:`STYLE` on top of Matplotlib's defaults, whatever the user's own settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        mpl.rcParams.update(THEMES[_theme.get()])
        yield


@contextmanager
def rendering(theme: str, formats: tuple[str, ...]) -> Iterator[None]:
    """Inside it, :func:`style` and :func:`save` use another theme and write other formats.

    Args:
        theme: A key of :data:`THEMES`.
        formats: Of png, pdf, svg.
    """
    before = _theme.set(theme), _formats.set(formats)
    try:
        yield
    finally:
        _theme.reset(before[0])
        _formats.reset(before[1])


def save(figure: Figure, folder: Path, stem: str, dpi: int = 150) -> list[Path]:
    """Write ``stem.png`` and ``stem.pdf`` without dates or versions in them."""
    folder.mkdir(parents=True, exist_ok=True)
    if _theme.get() == "dark":
        _inked(figure)
    written = []
    for kind in _formats.get():
        path = folder / f"{stem}.{kind}"
        figure.savefig(path, dpi=dpi, metadata=_METADATA[kind])
        written.append(path)
    return written


def _inked(figure: Figure) -> None:
    """Black lines, bars and words in the ink of a dark page: they would be black on black."""
    for artist in figure.findobj(lambda a: isinstance(a, Line2D | Text | Patch | Collection)):
        for part in ("color", "edgecolor", "facecolor"):
            read, write = getattr(artist, f"get_{part}", None), getattr(artist, f"set_{part}", None)
            if read is None or write is None or (isinstance(artist, Patch | Collection) and part == "color"):
                continue
            found = to_rgba_array(read())
            if len(found) and bool((found[:, :3] == 0).all() and (found[:, 3] > 0).all()):
                write(INK_ON_DARK)

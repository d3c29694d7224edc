"""What can be run: the files in ``conf/exp``, read from their headers, and the modules behind them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from faultline.errors import ConfigError

CONF = Path(__file__).resolve().parents[1] / "conf"
COMMON_OPTIONS = frozenset(
    {"limit", "seed", "repeats", "paired", "corpora", "policy", "retrieval", "agent", "faults"}
    | {"nli", "embedder", "charm", "resamples", "chat", "prices", "cache", "cache_max_mb", "budget", "calls"}
)
"""Options that only some experiments understand; ``runs_dir``, ``overwrite``, ... work everywhere."""
NOT_ABOUT = ("@package", "python -m", "cost:", "test:", "reproduce:")
USUAL_PLACE = 50
"""Of an experiment that names no place; what recomputes released data comes first, at 10."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One experiment file: its name, its line of description, and what it costs.

    Attributes:
        order: Its place in the reproduction of its paper (``# reproduce: N``), None with ``# reproduce: no``.
    """

    name: str
    about: str
    cost: str
    order: int | None = USUAL_PLACE


def entries() -> list[Entry]:
    """Every experiment, by name."""
    return [_entry(path) for path in sorted((CONF / "exp").glob("*.yaml"))]


def module_of(experiment: str | None) -> ModuleType:
    """The module that runs an experiment.

    Raises:
        ConfigError: None was named, or there is no such module.
    """
    names = ", ".join(entry.name for entry in entries())
    if not experiment:
        raise ConfigError(f"no experiment; give +exp=NAME with one of: {names}")
    try:
        return importlib.import_module(f"experiments.{experiment}")
    except ModuleNotFoundError as error:
        if error.name != f"experiments.{experiment}":
            raise
        raise ConfigError(
            f"experiment={experiment}: no such module; use +exp= with one of: {names}"
        ) from error


def check_options(module: ModuleType, name: str, overrides: Mapping[str, Any]) -> None:
    """Refuse an option that the experiment would ignore.

    Args:
        module: The experiment.
        name: Its name, for the message.
        overrides: What the user set, by option.

    Raises:
        ConfigError: An option that the experiment does not use.
    """
    understood = frozenset(module.OPTIONS)
    for option in overrides:
        if option in COMMON_OPTIONS and option not in understood:
            raise ConfigError(
                f"{option}: {name} does not use it; it understands {', '.join(sorted(understood)) or 'none'}"
            )


def _entry(path: Path) -> Entry:
    comments = [line.lstrip("# ").strip() for line in path.read_text().splitlines() if line.startswith("#")]
    about = [c for c in comments if not c.startswith(NOT_ABOUT)]
    cost = next((c.removeprefix("cost:").strip() for c in comments if c.startswith("cost:")), "")
    place = next((c.removeprefix("reproduce:").strip() for c in comments if c.startswith("reproduce:")), "")
    return Entry(path.stem, about[0] if about else "", cost, _place(path, place))


def _place(path: Path, told: str) -> int | None:
    if told == "no":
        return None
    if told and not told.isdigit():
        raise ConfigError(f"{path}: reproduce: {told}: give a whole number, or no")
    return int(told) if told else USUAL_PLACE

"""Checks of option values: a wrong one stops with its name and what it may be."""

from __future__ import annotations

from collections.abc import Collection

from faultline.errors import ConfigError


def require_choice(option: str, value: object, choices: Collection[str]) -> None:
    """Stop unless a value is one of the choices.

    Raises:
        ConfigError: It is not.
    """
    if value not in choices:
        raise ConfigError(f"{option}={value!r} is unknown: choose one of {', '.join(choices)}")


def require_between(option: str, value: float, low: float, high: float) -> None:
    """Stop unless low <= value <= high (NaN never is).

    Raises:
        ConfigError: It is outside.
    """
    if not low <= value <= high:
        raise ConfigError(f"{option}={value!r} is out of range: give a number from {low:g} to {high:g}")


def require_above(option: str, value: float, low: float) -> None:
    """Stop unless low < value < infinity.

    Raises:
        ConfigError: It is not.
    """
    if not low < value < float("inf"):
        raise ConfigError(f"{option}={value!r} is out of range: give a finite number above {low:g}")

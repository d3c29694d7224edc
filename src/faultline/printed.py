"""Numbers as a paper prints them: the value, and half a unit of the last printed digit.

Also :class:`Finding`, what a consistency check (arithmetic on printed numbers) returns.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from faultline.errors import DataError

_NUMBER = re.compile(r"^([+-]?)(\d*)(?:\.(\d+))?(%?)$")

Verdict = Literal["consistent", "inconsistent", "conditional"]


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed number.

    Attributes:
        text: As printed.
        value: Its value; a percentage as a rate.
        half_unit: Half a unit of the last printed digit, in the unit of ``value``.
        percent: Whether the text is a percentage.
    """

    text: str
    value: float
    half_unit: float
    percent: bool = False

    def matches(self, computed: float) -> bool:
        """Whether a computed number would be printed like this (half a unit may round either way)."""
        return abs(computed - self.value) <= self.half_unit * (1 + 1e-6)

    def interval(self) -> tuple[float, float]:
        """The values that would be printed like this."""
        return self.value - self.half_unit, self.value + self.half_unit


@dataclass(frozen=True, slots=True)
class Finding:
    """What arithmetic inside a paper shows.

    Attributes:
        verdict: ``conditional`` means that it holds only under one of the assumptions.
        value: The number that the arithmetic gives, if it gives one.
        detail: One line with the numbers.
        assumptions: What the arithmetic takes for granted.
    """

    verdict: Verdict
    value: float | None
    detail: str
    assumptions: tuple[str, ...] = ()


def parse(text: str, *, percent: bool = False, half_unit: float | None = None) -> Printed:
    """Read a printed number: ``-0.0004``, ``+.005``, ``2,790``, ``46.1%``.

    Args:
        text: As printed.
        percent: The number is a percentage though no sign says so (a table's header does).
        half_unit: Another precision, for numbers such as "a factor of thirty".

    Raises:
        DataError: Not a number.
    """
    clean = text.strip().replace(",", "").replace("\N{MINUS SIGN}", "-")
    match = _NUMBER.match(clean)
    if match is None or not (match[2] or match[3]):
        raise DataError(f"printed text {text!r} is not a number; quote it as the paper prints it")
    percent = percent or bool(match[4])
    scale = 0.01 if percent else 1.0
    decimals = len(match[3] or "")
    value = float(clean.rstrip("%")) * scale
    unit = 0.5 * 10.0**-decimals if half_unit is None else half_unit
    return Printed(text, value, unit * scale, percent)


def attainable_rate(printed: Printed, n: int) -> int | None:
    """A count k for which k/n would be printed like this, None if there is none.

    Args:
        printed: A rate in [0, 1].
        n: Cases.
    """
    nearest = math.floor(printed.value * n + 0.5)
    for k in (nearest, nearest - 1, nearest + 1):
        if 0 <= k <= n and printed.matches(k / n):
            return k
    return None

"""What an int8 copy does to decisions at a threshold, and the fp32 re-score of the band around it."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Flips:
    """Decisions ``p >= tau`` that differ between two precisions.

    Attributes:
        before: Pairs whose int8 decision is not the fp32 one.
        after: The same once the band has been scored again in fp32.
        band: Pairs in the band.
        n: All pairs.
    """

    before: int
    after: int
    band: int
    n: int


def rescore_band(p_int8: npt.ArrayLike, tau: float, width: float) -> BoolArray:
    """Which pairs to score again in fp32: those within ``width`` of the threshold.

    Args:
        p_int8: Shape (n,), in [0, 1].
        tau: The threshold.
        width: Half of the band, >= 0.

    Raises:
        ValueError: A negative width.
    """
    if width < 0:
        raise ValueError(f"width {width}: must be at least 0")
    return np.abs(np.asarray(p_int8, dtype=np.float64) - tau) <= width


def flips(p_fp32: npt.ArrayLike, p_int8: npt.ArrayLike, tau: float, width: float) -> Flips:
    """Decisions that int8 changes, before and after the band is scored again."""
    exact, fast = np.asarray(p_fp32, dtype=np.float64), np.asarray(p_int8, dtype=np.float64)
    band = rescore_band(fast, tau, width)
    mixed = np.where(band, exact, fast)
    wrong = [int(((p >= tau) != (exact >= tau)).sum()) for p in (fast, mixed)]
    return Flips(wrong[0], wrong[1], int(band.sum()), int(exact.size))


def band_width(p_fp32: npt.ArrayLike, p_int8: npt.ArrayLike, tau: float, share: float = 1.0) -> float:
    """The narrowest width that repairs a share of the flips, measured on pairs kept for the choice.

    Args:
        p_fp32: Shape (n,).
        p_int8: Shape (n,).
        tau: The threshold.
        share: Of the flips, in (0, 1].
    """
    exact, fast = np.asarray(p_fp32, dtype=np.float64), np.asarray(p_int8, dtype=np.float64)
    wrong = (fast >= tau) != (exact >= tau)
    if not wrong.any():
        return 0.0
    distance = np.sort(np.abs(fast[wrong] - tau))
    return float(distance[int(np.ceil(share * distance.size)) - 1])


def dynamic_int8(model: torch.nn.Module) -> torch.nn.Module:
    """A copy whose linear layers hold int8 weights and quantise their inputs as they come."""
    # The entry point is deprecated in favour of another package, but is still the one that torch carries.
    from torch.ao.quantization import quantize_dynamic

    quantised: torch.nn.Module = quantize_dynamic(copy.deepcopy(model), {torch.nn.Linear}, dtype=torch.qint8)
    return quantised.eval()

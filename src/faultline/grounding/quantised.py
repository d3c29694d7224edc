"""What an int8 copy does to decisions at a threshold, and the fp32 re-score of the band around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from faultline.grounding.pairs import Pair, held_out
from faultline.inference.banded import rescore_band
from faultline.inference.loaded import LoadedClassifier
from faultline.inference.nli import NliScorer
from faultline.results import Row
from faultline.stats import wilson

FloatArray = npt.NDArray[np.float64]

WIDTHS = (0.05, 0.1, 0.2)
"""Half widths of the band that are reported beside the chosen one."""


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


def rows(loaded: LoadedClassifier, pairs: Sequence[Pair], tau: float, share: float = 0.95) -> list[Row]:
    """Flips of an int8 copy at a threshold, with and without the fp32 re-score of a band.

    The band's width is chosen on a quarter of the pairs (by premise or question) and measured on the others.

    Args:
        loaded: The fp32 model.
        pairs: Train-side held-out pairs.
        tau: Threshold on P(entailment).
        share: Of the flips that the chosen width repairs on that quarter.
    """
    texts = [(pair.premise, pair.hypothesis) for pair in pairs]
    exact = NliScorer(loaded).verify(texts)[:, 0]
    fast = NliScorer(loaded, precision="int8").verify(texts)[:, 0]
    chosen_on = np.asarray([held_out("band:" + pair.group, 0.25) for pair in pairs], dtype=bool)
    chosen = band_width(exact[chosen_on], fast[chosen_on], tau, share)
    made = []
    for width in (*WIDTHS, chosen):
        found = flips(exact[~chosen_on], fast[~chosen_on], tau, width)
        counts = {
            "int8_flips": found.before,
            "int8_flips_rescored": found.after,
            "int8_band_share": found.band,
        }
        note = f"width chosen to repair {share:.0%} on other pairs" if width == chosen else ""
        made += [
            _row(loaded.name, metric, count, found.n, tau, width, note) for metric, count in counts.items()
        ]
    return made


def _row(nli: str, metric: str, count: int, n: int, tau: float, width: float, note: str) -> Row:
    rate = wilson(count, n)
    return Row(
        paper="house",
        experiment="train_nli",
        table="grounding",
        metric=metric,
        system=nli,
        dataset="train_held_out",
        condition=f"tau={tau:g};width={width:.3f}",
        backbone="",
        nli=nli,
        embedder="",
        needs_gold=False,
        value=rate.value,
        low=rate.low,
        high=rate.high,
        unit="rate",
        n_total=n,
        n_scored=n,
        n_missing=0,
        note="; ".join(filter(None, (f"{count} pairs", note))),
    )

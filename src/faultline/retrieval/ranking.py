"""A total order over scored passages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from faultline.records import Hit, Passage


def ranked(passages: Sequence[Passage], scores: npt.ArrayLike, k: int) -> tuple[Hit, ...]:
    """The k best by score, ties by passage id, as hits ranked from 1.

    Args:
        passages: n passages.
        scores: Shape (n,), higher is better.
        k: How many; fewer if the pool is smaller.
    """
    values = np.asarray(scores, dtype=np.float64)
    order = sorted(range(len(passages)), key=lambda i: (-values[i], passages[i].id))[:k]
    return tuple(Hit(passages[i], float(values[i]), rank) for rank, i in enumerate(order, start=1))

"""Fitting the reuse check on train probes: signed logistic regression, a cross-validated threshold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from sklearn.model_selection import GroupKFold

from faultline.memory.probes import Probe
from faultline.memory.requests import parse
from faultline.memory.reuse import Embed, FloatArray, ReuseCheck, features

BoolArray = npt.NDArray[np.bool_]
FOLDS = 10
RIDGE = 1 / 60.0
"""Half the weight of the squared coefficients (of features in units of their spread)."""


def table(probes: Sequence[Probe], embed: Embed) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Features (n, features), cosines (n,) and whether reuse is right (n,) of probes."""
    rows = np.stack([features(parse(p.first), parse(p.second), embed) for p in probes])
    texts = list(dict.fromkeys(text for p in probes for text in (p.first, p.second)))
    place = {text: i for i, text in enumerate(texts)}
    vectors = embed(texts)
    pairs = np.array([(place[p.first], place[p.second]) for p in probes])
    cosines = np.einsum("ij,ij->i", vectors[pairs[:, 0]], vectors[pairs[:, 1]]).astype(np.float64)
    return rows, cosines, np.array([p.same for p in probes])


def fitted(rows: FloatArray, same: BoolArray) -> tuple[FloatArray, float]:
    """Weights, none above 0, and the intercept: every feature counts against reuse or not at all."""
    spread = rows.std(axis=0) + 1e-9
    scaled, sign = rows / spread, np.where(same, 1.0, -1.0)

    def loss(b: FloatArray) -> tuple[float, FloatArray]:
        margin = sign * (scaled @ b[:-1] + b[-1])
        pull = -sign / (1.0 + np.exp(margin))
        value = np.logaddexp(0.0, -margin).sum() + RIDGE * (b[:-1] ** 2).sum()
        return float(value), np.r_[scaled.T @ pull + 2 * RIDGE * b[:-1], pull.sum()]

    bounds = [(None, 0.0)] * rows.shape[1] + [(None, None)]
    found = minimize(loss, np.zeros(rows.shape[1] + 1), jac=True, bounds=bounds, method="L-BFGS-B").x
    return np.asarray(found[:-1] / spread), float(found[-1])


def fit(probes: Sequence[Probe], embed: Embed, tau: float, share: float) -> ReuseCheck:
    """A check whose threshold lets ``share`` of the near misses above ``tau`` pass, by frame left out.

    Args:
        probes: Train probes.
        embed: Embeds texts, unit rows.
        tau: Cosine from which a pair is considered.
        share: Of the near misses, in [0, 1).
    """
    rows, cosines, same = table(probes, embed)
    kept = cosines >= tau
    rows, same = rows[kept], same[kept]
    frames = np.array([p.frame for p in probes])[kept]
    scores = np.zeros(len(same))
    for train, test in GroupKFold(FOLDS).split(rows, groups=frames):
        weights, intercept = fitted(rows[train], same[train])
        scores[test] = 1.0 / (1.0 + np.exp(-(rows[test] @ weights + intercept)))
    misses = np.sort(scores[~same])[::-1]
    threshold = float(np.nextafter(misses[int(share * len(misses))], 1.0))
    weights, intercept = fitted(rows, same)
    return ReuseCheck(tuple(float(w) for w in weights), intercept, threshold, tau)

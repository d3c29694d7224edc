"""Confidence propagation monitor: confidence that rises above what it was (paper 1, IV-B 3, Eq. 4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from faultline.charm.options import require_above, require_between, require_choice
from faultline.charm.scores import BoolArray, FloatArray, StageScores
from faultline.charm.sfv import contradiction

MONITORS = ("beta", "difference", "ewma", "cusum", "contradiction")
MAPS = ("margin", "step")
CLIP = (0.01, 0.99)
"""Confidences are clipped to this range before calibration."""


@dataclass(frozen=True, slots=True)
class CpmSettings:
    """Options of the monitor.

    Attributes:
        monitor: What is expected of confidence p_i, and so what an excess is:
            ``beta`` the running mean mu_i of the Beta posterior (Eq. 4);
            ``difference`` the last stated p (0 at the first);
            ``ewma`` m_i, m_{i+1} = lambda p_i + (1 - lambda) m_i, m_1 the prior mean (Roberts 1959);
            ``cusum`` the sum S_i = max(0, S_{i-1} + p_i - prior mean - k) above h (Page 1954);
            ``contradiction`` P(contradiction) above tau_cpm, without any confidence (the paper's fallback).
        map: ``margin`` (how far above, scaled to [0, 1]) or ``step`` (above or not).
        delta: Excess that counts as inflation, in [0, 1); 0.15 in the paper.
        temperature: Of the calibration sigmoid(logit(p) / T); 1.4 in the paper.
        prior: alpha and beta at stage 1; (2, 2) in the paper.
        tau_cpm: Contradiction threshold, in [0, 1); 0.35 in the paper.
        ewma_lambda: Weight of the newest confidence, in (0, 1]; 0.2 is the textbook choice.
        cusum_k: Slack a stage; half of the excess to detect, 0.075.
        cusum_h: Decision limit; 0.9, four standard deviations of Beta(2, 2).

    Raises:
        ConfigError: An unknown or impossible value.
    """

    monitor: str = "beta"
    map: str = "margin"
    delta: float = 0.15
    temperature: float = 1.4
    prior: tuple[float, float] = (2.0, 2.0)
    tau_cpm: float = 0.35
    ewma_lambda: float = 0.2
    cusum_k: float = 0.075
    cusum_h: float = 0.9

    def __post_init__(self) -> None:
        require_choice("cpm.monitor", self.monitor, MONITORS)
        require_choice("cpm.map", self.map, MAPS)
        require_between("cpm.delta", self.delta, 0.0, 0.99)
        require_between("cpm.tau_cpm", self.tau_cpm, 0.0, 0.99)
        require_above("cpm.temperature", self.temperature, 0.0)
        for value in self.prior:
            require_above("cpm.prior", value, 0.0)
        require_between("cpm.ewma_lambda", self.ewma_lambda, 0.0, 1.0)
        require_above("cpm.ewma_lambda", self.ewma_lambda, 0.0)
        require_between("cpm.cusum_k", self.cusum_k, 0.0, 1.0)
        require_above("cpm.cusum_h", self.cusum_h, 0.0)

    @property
    def prior_mean(self) -> float:
        """Mean of the Beta prior."""
        return self.prior[0] / (self.prior[0] + self.prior[1])


def calibrated(confidence: FloatArray, temperature: float) -> FloatArray:
    """Temperature-scaled confidence sigmoid(logit(clip(p, .01, .99)) / T), the shape given; NaN stays NaN.

    Element by element with the C library's functions: vectorised exponentials differ between processors.
    """

    def scale(p: float) -> float:
        if math.isnan(p):
            return p
        clipped = min(max(p, CLIP[0]), CLIP[1])
        return 1.0 / (1.0 + math.exp(-math.log(clipped / (1.0 - clipped)) / temperature))

    flat = np.array([scale(p) for p in confidence.ravel().tolist()], dtype=np.float64)
    return flat.reshape(confidence.shape)


def uses_contradiction(scores: StageScores, settings: CpmSettings) -> BoolArray:
    """Trajectories monitored by contradiction, shape (n,): all by option, else those without confidences."""
    return ~scores.stated | (settings.monitor == "contradiction")


def cpm_signal(scores: StageScores, settings: CpmSettings, anchor: str = "both") -> FloatArray:
    """Anomaly a_cpm in [0, 1], shape (n, S); NaN at stages without the value that the monitor watches.

    A trajectory whose backbone states no confidence falls back to ``contradiction`` at every stage (IV-B 3).
    A single stage without a confidence is passed over: NaN, and the expectation stays as it was.

    Args:
        scores: Of n trajectories.
        settings: Options.
        anchor: The anchor option of the fact verifier, whose contradiction is taken.
    """
    by_contradiction = _contradiction_signal(contradiction(scores, anchor), settings)
    if settings.monitor == "contradiction":
        return by_contradiction
    stated = _MONITORS[settings.monitor](calibrated(scores.confidence, settings.temperature), settings)
    return np.where(uses_contradiction(scores, settings)[:, None], by_contradiction, stated)


def _contradiction_signal(values: FloatArray, settings: CpmSettings) -> FloatArray:
    return _mapped(values, settings.tau_cpm, 1.0, settings.map)


def _mapped(value: FloatArray, limit: float, top: FloatArray | float, kind: str) -> FloatArray:
    """A value over its limit as an anomaly: 0 up to the limit, 1 at the top."""
    above = value > limit
    if kind == "step":
        signal = above.astype(np.float64)
    else:
        signal = np.divide(value - limit, top - limit, out=np.zeros_like(value), where=above)
        signal = np.clip(signal, 0.0, 1.0)
    return np.where(np.isnan(value), np.nan, signal)


def _against(expected: FloatArray, p: FloatArray, settings: CpmSettings) -> FloatArray:
    return _mapped(p - expected, settings.delta, 1.0 - expected, settings.map)


def _beta(p: FloatArray, settings: CpmSettings) -> FloatArray:
    signal = np.full(p.shape, np.nan)
    alpha = np.full(p.shape[0], float(settings.prior[0]))
    beta = np.full(p.shape[0], float(settings.prior[1]))
    for i in range(p.shape[1]):
        observed = ~np.isnan(p[:, i])
        signal[:, i] = _against(alpha / (alpha + beta), p[:, i], settings)
        alpha = np.where(observed, alpha + p[:, i], alpha)
        beta = np.where(observed, beta + (1.0 - p[:, i]), beta)
    return signal


def _difference(p: FloatArray, settings: CpmSettings) -> FloatArray:
    signal = np.full(p.shape, np.nan)
    last = np.full(p.shape[0], np.nan)
    for i in range(p.shape[1]):
        observed = ~np.isnan(p[:, i])
        rise = _against(last, p[:, i], settings)
        signal[:, i] = np.where(observed & np.isnan(last), 0.0, rise)
        last = np.where(observed, p[:, i], last)
    return signal


def _ewma(p: FloatArray, settings: CpmSettings) -> FloatArray:
    signal = np.full(p.shape, np.nan)
    mean = np.full(p.shape[0], settings.prior_mean)
    weight = settings.ewma_lambda
    for i in range(p.shape[1]):
        observed = ~np.isnan(p[:, i])
        signal[:, i] = _against(mean, p[:, i], settings)
        mean = np.where(observed, weight * p[:, i] + (1.0 - weight) * mean, mean)
    return signal


def _cusum(p: FloatArray, settings: CpmSettings) -> FloatArray:
    """The margin is 1 where the sum reaches twice its limit."""
    signal = np.full(p.shape, np.nan)
    total = np.zeros(p.shape[0])
    for i in range(p.shape[1]):
        step = np.maximum(0.0, total + p[:, i] - settings.prior_mean - settings.cusum_k)
        signal[:, i] = _mapped(step, settings.cusum_h, 2.0 * settings.cusum_h, settings.map)
        total = np.where(np.isnan(step), total, step)
    return signal


_MONITORS: dict[str, Callable[[FloatArray, CpmSettings], FloatArray]] = {
    "beta": _beta,
    "difference": _difference,
    "ewma": _ewma,
    "cusum": _cusum,
}

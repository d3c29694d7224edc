"""Calibration of stated confidences: temperature, Platt, isotonic (paper 1, IV-B 3 and VI-A2).

The two that have a gradient are fitted by LBFGS under Lightning's Trainer, so they run where it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import lightning
import numpy as np
import torch
from sklearn.isotonic import IsotonicRegression
from torch.utils.data import DataLoader, TensorDataset

from faultline.charm.cpm import CLIP
from faultline.charm.scores import FloatArray
from faultline.errors import ConfigError, DataError

METHODS = ("none", "temperature", "platt", "isotonic")
LEAST_CASES = 20
"""Cases of each outcome below which nothing is fitted."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A map from confidence to calibrated confidence.

    Attributes:
        method: One of :data:`METHODS`.
        apply: From an array in [0, 1] to one in [0, 1].
        parameters: Temperature, or slope and intercept; empty for isotonic.
    """

    method: str
    apply: Callable[[FloatArray], FloatArray]
    parameters: tuple[float, ...]


class _Logistic(lightning.LightningModule):
    """sigmoid(slope * logit(p) + intercept), the slope positive; without an intercept slope = 1 / T."""

    def __init__(self, intercept: bool) -> None:
        super().__init__()
        self.log_slope = torch.nn.Parameter(torch.zeros((), dtype=torch.float64))
        self.intercept = torch.nn.Parameter(torch.zeros((), dtype=torch.float64), requires_grad=intercept)

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        """Negative log-likelihood of the whole set."""
        logits, labels = batch
        scaled = torch.exp(self.log_slope) * logits + self.intercept
        return torch.nn.functional.binary_cross_entropy_with_logits(scaled, labels)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """LBFGS with a line search: a handful of smooth dimensions, all data in one batch."""
        free = [p for p in self.parameters() if p.requires_grad]
        return torch.optim.LBFGS(free, max_iter=100, line_search_fn="strong_wolfe")


def logits_of(confidence: FloatArray) -> FloatArray:
    """Log-odds after clipping to the paper's [.01, .99]."""
    p = np.clip(confidence, *CLIP)
    return np.asarray(np.log(p / (1.0 - p)))


def fit(method: str, confidence: FloatArray, correct: FloatArray, accelerator: str = "cpu") -> Fit:
    """Fit one method.

    Args:
        method: One of :data:`METHODS`.
        confidence: Shape (n,), stated, in [0, 1].
        correct: Shape (n,), 0 or 1: whether what was stated is right.
        accelerator: Lightning's; whatever runs, the optimum is the same to the optimiser's tolerance.

    Raises:
        ConfigError: An unknown method.
        DataError: NaN, other shapes, or fewer than :data:`LEAST_CASES` right or wrong cases.
    """
    if method not in METHODS:
        raise ConfigError(f"calibration method {method!r}: choose one of {', '.join(METHODS)}")
    if method == "none":
        return Fit("none", lambda p: p, ())
    if confidence.shape != correct.shape or confidence.ndim != 1 or np.isnan(confidence).any():
        raise DataError("calibration: give confidences without NaN and as many outcomes")
    rarer = int(min(correct.sum(), (1 - correct).sum()))
    if rarer < LEAST_CASES:
        raise DataError(
            f"calibration: {rarer} cases of the rarer outcome, {LEAST_CASES} are needed; add train data"
        )
    if method == "isotonic":
        model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(confidence, correct)
        return Fit("isotonic", lambda p: np.asarray(model.predict(p)), ())
    slope, intercept = _optimum(confidence, correct, method == "platt", accelerator)
    values = (slope, intercept) if method == "platt" else (1.0 / slope,)
    return Fit(method, lambda p: 1.0 / (1.0 + np.exp(-(slope * logits_of(p) + intercept))), values)


def _optimum(
    confidence: FloatArray, correct: FloatArray, intercept: bool, accelerator: str
) -> tuple[float, float]:
    module = _Logistic(intercept)
    data = TensorDataset(
        torch.from_numpy(logits_of(confidence)), torch.from_numpy(correct.astype(np.float64))
    )
    quiet: dict[str, Any] = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
    )
    trainer = lightning.Trainer(
        accelerator=accelerator, devices=1, max_epochs=5, precision="64-true", **quiet
    )
    trainer.fit(module, DataLoader(data, batch_size=len(data)))
    return float(module.log_slope.detach().exp()), float(module.intercept.detach())


def log_loss(confidence: FloatArray, correct: FloatArray) -> float:
    """Mean negative log-likelihood, confidences clipped to the paper's range."""
    p = np.clip(confidence, *CLIP)
    return float(-np.mean(correct * np.log(p) + (1.0 - correct) * np.log(1.0 - p)))


def expected_calibration_error(confidence: FloatArray, correct: FloatArray, bins: int = 10) -> float:
    """Mean gap between confidence and accuracy over equal-width bins (Naeini et al. 2015), in [0, 1]."""
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    gap = np.bincount(place, weights=confidence - correct, minlength=bins)
    return float(np.abs(gap).sum() / confidence.shape[0])

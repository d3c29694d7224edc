"""Linear layers that compute as their int8 copies will, so that training moves decisions off the rounding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

LEVELS = 127
"""Weights take the integers from -127 to 127, by output channel."""

STEPS = 255
"""Inputs take 256 values between the smallest and the largest of a batch, zero among them."""


def fake_weight(weight: torch.Tensor) -> torch.Tensor:
    """Round a weight matrix to int8 by output channel, symmetric; gradients pass straight through.

    Args:
        weight: Shape (out, in).
    """
    scale = (weight.detach().abs().amax(dim=1) / LEVELS).clamp_min(1e-8)
    zero = torch.zeros_like(scale, dtype=torch.int32)
    rounded: torch.Tensor = torch.fake_quantize_per_channel_affine(weight, scale, zero, 0, -LEVELS, LEVELS)
    return rounded


def fake_input(values: torch.Tensor) -> torch.Tensor:
    """Round activations to 8 bits over the range of the whole tensor, as a dynamic int8 kernel does.

    Args:
        values: Any shape; the range always holds 0.
    """
    exact = values.detach().float()
    low, high = exact.amin().clamp_max(0.0), exact.amax().clamp_min(0.0)
    scale = ((high - low) / STEPS).clamp_min(1e-8)
    zero = (-low / scale).round()
    rounded = (((exact / scale).round() + zero).clamp(0, STEPS) - zero) * scale
    return values + (rounded - exact).to(values.dtype)


class FakeQuantLinear(torch.nn.Linear):
    """A linear layer that rounds its weight and input as an int8 kernel would, while ``enabled``."""

    enabled = False

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002 (the base class names it so)
        """``input @ weight.T + bias``, shape (..., out)."""
        if not self.enabled:
            return super().forward(input)
        return torch.nn.functional.linear(fake_input(input), fake_weight(self.weight), self.bias)


def prepare(model: torch.nn.Module) -> list[FakeQuantLinear]:
    """Turn every linear layer into one that can round, in place; parameters and their names stay the same."""
    found = []
    for module in model.modules():
        if type(module) is torch.nn.Linear:
            # The class alone changes: parameters, hooks and state names are those of the layer.
            module.__class__ = FakeQuantLinear
        if isinstance(module, FakeQuantLinear):
            found.append(module)
    return found


@contextmanager
def rounding(layers: list[FakeQuantLinear], on: bool = True) -> Iterator[None]:
    """Compute as int8 (or not) inside the block."""
    before = [layer.enabled for layer in layers]
    for layer in layers:
        layer.enabled = on
    try:
        yield
    finally:
        for layer, state in zip(layers, before, strict=True):
            layer.enabled = state


def agreement_loss(rounded: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """KL divergence of the int8 prediction from the exact one, mean over rows; no gradient to the exact.

    Args:
        rounded: Logits, shape (n, classes).
        exact: Logits, shape (n, classes).
    """
    target = exact.detach().log_softmax(1)
    return torch.nn.functional.kl_div(rounded.log_softmax(1), target, log_target=True, reduction="batchmean")

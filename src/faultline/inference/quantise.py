"""int8 copies of a model, for CPUs."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch


def dynamic_int8(model: torch.nn.Module) -> torch.nn.Module:
    """A copy whose linear layers hold int8 weights by output channel and quantise inputs as they come."""
    # The entry point is deprecated in favour of another package, but is still the one that torch carries.
    from torch.ao import quantization

    convert: Callable[..., torch.nn.Module] = quantization.quantize_dynamic
    by_channel = {torch.nn.Linear: quantization.per_channel_dynamic_qconfig}
    return convert(copy.deepcopy(model), by_channel).eval()

"""What a bench needs: the peak of the machine, the work of an encoder, and timings that cannot flatter."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from faultline.errors import ConfigError

GEMM_SIZES = (512, 1024)
Run = Callable[[], object]


def gemm_peak(rounds: int = 5, sizes: Sequence[int] = GEMM_SIZES) -> float:
    """The fastest fp32 matrix product of this process with its threads, in FLOP/s.

    Args:
        rounds: Products of each size; the best counts.
        sizes: Sides of the square matrices.
    """
    best = 0.0
    generator = torch.Generator().manual_seed(0)
    for size in sizes:
        left = torch.randn(size, size, generator=generator)
        right = torch.randn(size, size, generator=generator)
        for _ in range(rounds):
            started = time.perf_counter()
            torch.mm(left, right)
            best = max(best, 2 * size**3 / (time.perf_counter() - started))
    return best


def encoder_flops(lengths: Sequence[int], layers: int, hidden: int, intermediate: int) -> float:
    """Useful floating-point operations of a BERT-like encoder: those of true tokens, none of padding.

    A multiply-add counts as two. Per layer and token: four projections, two of the feed-forward part, and
    attention scores and sums over the tokens of the same input. Heads, norms and embeddings are left out,
    so the share of the peak is slightly understated.

    Args:
        lengths: True tokens of each input.
        layers: Of the encoder.
        hidden: Its width.
        intermediate: Width of the feed-forward part.
    """
    tokens = np.asarray(lengths, dtype=np.float64)
    dense = 2.0 * (4 * hidden * hidden + 2 * hidden * intermediate) * tokens.sum()
    attention = 4.0 * hidden * (tokens**2).sum()
    return float(layers * (dense + attention))


def interleaved(contenders: Mapping[str, Run], rounds: int) -> dict[str, float]:
    """Best seconds of each, timed in turns, so that a slow spell of the machine meets all of them.

    Args:
        contenders: What to time, by name.
        rounds: Turns; each begins one place later, so that none always follows the same other.

    Raises:
        ConfigError: Less than one round.
    """
    if rounds < 1:
        raise ConfigError(f"rounds={rounds}: must be at least 1")
    names = list(contenders)
    best = dict.fromkeys(names, float("inf"))
    for turn in range(rounds):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            started = time.perf_counter()
            contenders[name]()
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def peak_mb() -> float:
    """The most memory that this process has held so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6

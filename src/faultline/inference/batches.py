"""A deterministic batch plan over a whole set of distinct inputs.

Another batch shape moves a score by about 1e-6. The plan depends on the set alone, not on its order, so that
resuming, caching and several processes give the same bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from faultline.errors import ConfigError

PLAN_VERSION = 1
IdArray = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Batch:
    """Inputs that share a forward pass.

    Attributes:
        rows: Indices into the planned sequence.
        width: Tokens of the longest of them, to which all are padded.
    """

    rows: tuple[int, ...]
    width: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Batches that hold every input once.

    Attributes:
        batches: Longest inputs first, so that a batch too large for the device fails at once.
        plan_id: sha256 over the sorted (key, length) pairs, the budgets and the version of the rule.
        tokens: True tokens of all inputs.
        padded: Tokens that are computed, padding included.
    """

    batches: tuple[Batch, ...]
    plan_id: str
    tokens: int
    padded: int

    @property
    def padding_share(self) -> float:
        """Padding tokens over computed tokens, in [0, 1); 0 for an empty plan."""
        return 1 - self.tokens / self.padded if self.padded else 0.0


def plan(lengths: Sequence[int], keys: Sequence[str], token_budget: int, max_items: int = 1024) -> Plan:
    """Plan distinct inputs, sorted by (true token length, content key), under a padded-token budget.

    Args:
        lengths: Tokens of each input, special tokens included, >= 1.
        keys: Content key of each input, all different.
        token_budget: Padded tokens a batch at most; an input longer than that is a batch of its own.
        max_items: Inputs a batch at most.

    Raises:
        ConfigError: A budget below 1, or keys that repeat.
    """
    if token_budget < 1 or max_items < 1:
        raise ConfigError(f"token_budget {token_budget}, max_items {max_items}: both must be at least 1")
    if len(set(keys)) != len(keys) or len(lengths) != len(keys):
        raise ConfigError(f"{len(keys)} keys ({len(set(keys))} distinct) for {len(lengths)} inputs")
    order = sorted(range(len(keys)), key=lambda row: (-lengths[row], keys[row]))
    batches = []
    start = 0
    while start < len(order):
        width = lengths[order[start]]
        size = min(max(1, token_budget // max(1, width)), max_items)
        batches.append(Batch(tuple(order[start : start + size]), width))
        start += size
    digest = hashlib.sha256(f"{PLAN_VERSION} {token_budget} {max_items}\n".encode())
    for row in order:
        digest.update(f"{lengths[row]} {keys[row]}\n".encode())
    padded = sum(batch.width * len(batch.rows) for batch in batches)
    return Plan(tuple(batches), digest.hexdigest(), int(sum(lengths)), padded)


def content_key(*arrays: IdArray) -> str:
    """sha256 over token arrays: what the model sees, so it covers tokenizer and template as well."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.shape[0]}:".encode())
        digest.update(np.ascontiguousarray(array, dtype="<i4").tobytes())
    return digest.hexdigest()


def pad(arrays: Sequence[IdArray], width: int, value: int) -> npt.NDArray[np.int64]:
    """Arrays padded on the right with ``value``, shape (n, width)."""
    padded = np.full((len(arrays), width), value, dtype=np.int64)
    for row, array in enumerate(arrays):
        padded[row, : array.shape[0]] = array
    return padded

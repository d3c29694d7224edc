"""A sequence classifier that is ready to score, whatever file format it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class LoadedClassifier:
    """A three-class NLI model.

    Attributes:
        model: ``forward(input_ids, attention_mask, token_type_ids=None)`` gives raw logits, shape (batch, 3).
        tokenizer: Its Hugging Face fast tokenizer.
        label2id: Lower-case names entailment, neutral, contradiction to logit columns, as the
            checkpoint has them.
        max_tokens: Longest pair it was built for, special tokens included.
        digest: sha256 over all weights that it computes with.
        name: Name in the results tables.
    """

    model: torch.nn.Module
    tokenizer: Any
    label2id: Mapping[str, int]
    max_tokens: int
    digest: str
    name: str

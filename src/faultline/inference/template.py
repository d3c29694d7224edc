"""Special tokens around a text or a pair, learned from the tokenizer itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultline.errors import ModelError
from faultline.inference.batches import IdArray

_PROBE = ("a b", "c")
_TEXTS_A_CALL = 4096


@dataclass(frozen=True, slots=True)
class Template:
    """``before + first + middle + second + after``; for single texts ``middle`` is empty.

    Attributes:
        segments: Token type of each of the five parts; None if the model takes no token types.
        pad_id: Token id of padding.
    """

    before: tuple[int, ...]
    middle: tuple[int, ...]
    after: tuple[int, ...]
    segments: tuple[tuple[int, ...], int, tuple[int, ...], int, tuple[int, ...]] | None
    pad_id: int

    @property
    def specials(self) -> int:
        """Special tokens that an input carries."""
        return len(self.before) + len(self.middle) + len(self.after)

    def assemble(self, first: IdArray, second: IdArray | None = None) -> tuple[IdArray, IdArray | None]:
        """Token ids and token types of one input."""
        second = np.empty(0, np.int32) if second is None else second
        ids = np.concatenate((self.before, first, self.middle, second, self.after)).astype(np.int32)
        if self.segments is None:
            return ids, None
        before, of_first, middle, of_second, after = self.segments
        filled = (np.full(first.shape[0], of_first), np.full(second.shape[0], of_second))
        return ids, np.concatenate((before, filled[0], middle, filled[1], after)).astype(np.int32)


def learn(tokenizer: Any, name: str, *, pair: bool) -> Template:
    """Read the template off an encoded probe (fast tokenizers have no public assembly since version 5).

    Raises:
        ModelError: Not a fast tokenizer, no padding token, or one whose inputs are not of this form.
    """
    if not getattr(tokenizer, "is_fast", False) or tokenizer.pad_token_id is None:
        raise ModelError(
            f"model {name}: needs a fast tokenizer with a padding token; save one with the model"
        )
    probe = tokenizer(*_PROBE) if pair else tokenizer(_PROBE[0])
    owner = probe.sequence_ids()
    # Parts: before the first text, the text, between, the second text, after.
    starts = [owner.index(0), len(owner) - owner[::-1].index(0)]
    starts += [owner.index(1), len(owner) - owner[::-1].index(1)] if pair else [starts[1], starts[1]]
    cuts = [slice(low, high) for low, high in zip([0, *starts], [*starts, len(owner)], strict=True)]
    ids = probe["input_ids"]
    segments = None
    if "token_type_ids" in probe:
        types = [tuple(probe["token_type_ids"][cut]) for cut in cuts]
        segments = (types[0], types[1][0], types[2], types[3][0] if pair else 0, types[4])
    template = Template(
        tuple(ids[cuts[0]]), tuple(ids[cuts[2]]), tuple(ids[cuts[4]]), segments, int(tokenizer.pad_token_id)
    )
    alone = tokenize(tokenizer, _PROBE)
    built, built_types = template.assemble(alone[0], alone[1] if pair else None)
    same_types = built_types is None or built_types.tolist() == list(probe["token_type_ids"])
    if built.tolist() != list(ids) or not same_types:
        raise ModelError(
            f"model {name}: its tokenizer does not put fixed special tokens around separately read texts; "
            f"use a tokenizer that does (BERT, RoBERTa, DeBERTa, MPNet)"
        )
    return template


def tokenize(tokenizer: Any, texts: Sequence[str]) -> list[IdArray]:
    """Token ids of each text, whole, without special tokens."""
    rows: list[IdArray] = []
    for start in range(0, len(texts), _TEXTS_A_CALL):
        encoded = tokenizer(
            list(texts[start : start + _TEXTS_A_CALL]),
            add_special_tokens=False,
            truncation=False,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )
        rows += [np.asarray(ids, dtype=np.int32) for ids in encoded["input_ids"]]
    return rows

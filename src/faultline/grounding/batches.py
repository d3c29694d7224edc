"""Tokenised pairs in batches of like length, planned for the whole training so that a resume skips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import lightning
import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import DataLoader, IterableDataset

from faultline.grounding.pairs import LABELS, Pair
from faultline.stats import generator

Batch = dict[str, torch.Tensor]


def plan(
    lengths: npt.ArrayLike, *, max_tokens: int, max_pairs: int, epochs: int, seed: int
) -> list[npt.NDArray[np.int64]]:
    """Batches of indices for all epochs: similar lengths together, the batches of an epoch in random order.

    Args:
        lengths: Tokens of each pair, shape (n,).
        max_tokens: Largest batch, padding counted.
        max_pairs: Largest number of pairs in a batch.
        epochs: Passes over all pairs.
        seed: Of jitter and order.

    Returns:
        Every index once an epoch.
    """
    size = np.asarray(lengths, dtype=np.float64)
    batches: list[npt.NDArray[np.int64]] = []
    for epoch in range(epochs):
        rng = generator(seed, epoch, "batches")
        order = np.argsort(size * rng.uniform(0.9, 1.1, size.shape), kind="stable")
        cut, start, longest = [], 0, 0.0
        for position, index in enumerate(order):
            longest = max(longest, size[index])
            if position > start and (
                longest * (position + 1 - start) > max_tokens or position - start >= max_pairs
            ):
                cut.append(order[start:position])
                start, longest = position, size[index]
        cut += [order[start:]] if start < len(order) else []
        batches += [cut[i] for i in rng.permutation(len(cut))]
    return batches


def encode(tokenizer: Any, pairs: Sequence[Pair], max_tokens: int) -> list[list[int]]:
    """Token ids of each pair; a pair that is too long loses the end of its premise.

    Training only: the scorer slides windows instead and cuts nothing.
    """
    found: list[list[int]] = []
    for start in range(0, len(pairs), 4096):
        part = pairs[start : start + 4096]
        encoded = tokenizer(
            [p.premise for p in part],
            [p.hypothesis for p in part],
            truncation="longest_first",
            max_length=max_tokens,
            return_token_type_ids=False,
            return_attention_mask=False,
        )
        found.extend(encoded["input_ids"])
    return found


def collate(ids: Sequence[list[int]], labels: Sequence[int], sep: int, pad: int) -> Batch:
    """Padded tensors of one batch; segment 1 starts after the first separator."""
    width = max(map(len, ids))
    tokens = torch.full((len(ids), width), pad, dtype=torch.long)
    mask = torch.zeros((len(ids), width), dtype=torch.long)
    kinds = torch.zeros((len(ids), width), dtype=torch.long)
    for row, one in enumerate(ids):
        tokens[row, : len(one)] = torch.tensor(one)
        mask[row, : len(one)] = 1
        kinds[row, one.index(sep) + 1 : len(one)] = 1
    return {
        "input_ids": tokens,
        "attention_mask": mask,
        "token_type_ids": kinds,
        "labels": torch.tensor(list(labels), dtype=torch.long),
    }


class PlannedBatches(IterableDataset[Batch]):
    """The batches of a plan from position ``start`` on. It has no length, so a resumed fit runs on."""

    def __init__(
        self, ids: list[list[int]], labels: list[int], planned: list[Any], start: int, sep: int, pad: int
    ) -> None:
        self._ids, self._labels, self._planned = ids, labels, planned
        self._start, self._sep, self._pad = start, sep, pad

    def __iter__(self) -> Iterator[Batch]:
        """Batches in the order of the plan."""
        for indices in self._planned[self._start :]:
            yield collate(
                [self._ids[i] for i in indices], [self._labels[i] for i in indices], self._sep, self._pad
            )


class PairsData(lightning.LightningDataModule):
    """Training and held-out batches.

    Args:
        train: Training pairs.
        held_out: Pairs of the learning curve.
        tokenizer: A BERT tokenizer.
        max_tokens: Longest pair.
        batch_tokens: Largest batch in tokens.
        batch_pairs: Largest batch in pairs.
        epochs: Passes that are planned; the trainer's ``max_steps`` may stop earlier.
        seed: Of the plan.
        start: Batches to skip: the global step of the checkpoint that training resumes from.
    """

    def __init__(
        self,
        train: Sequence[Pair],
        held_out: Sequence[Pair],
        tokenizer: Any,
        *,
        max_tokens: int,
        batch_tokens: int,
        batch_pairs: int,
        epochs: int,
        seed: int,
        start: int = 0,
    ) -> None:
        super().__init__()
        self._pairs = {"train": list(train), "held_out": list(held_out)}
        self._tokenizer, self._max_tokens = tokenizer, max_tokens
        self._size = {"max_tokens": batch_tokens, "max_pairs": batch_pairs}
        self._epochs, self._seed, self._start = epochs, seed, start

    def train_dataloader(self) -> DataLoader[Batch]:
        """The plan from ``start`` on."""
        return self._loader("train", self._epochs, self._start)

    def val_dataloader(self) -> DataLoader[Batch]:
        """Every held-out pair once."""
        return self._loader("held_out", 1, 0)

    def _loader(self, part: str, epochs: int, start: int) -> DataLoader[Batch]:
        pairs = self._pairs[part]
        ids = encode(self._tokenizer, pairs, self._max_tokens)
        planned = plan([len(i) for i in ids], epochs=epochs, seed=self._seed, **self._size)
        labels = [LABELS.index(p.label) for p in pairs]
        tokenizer = self._tokenizer
        data = PlannedBatches(ids, labels, planned, start, tokenizer.sep_token_id, tokenizer.pad_token_id)
        return DataLoader(data, batch_size=None)

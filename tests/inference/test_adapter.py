import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import faultline.inference
from faultline.errors import ModelError
from faultline.inference.adapter import (
    apply_delta,
    base_folder,
    build,
    file_digest,
    load_adapter_checkpoint,
    weights_digest,
)
from faultline.inference.checkpoints import load_classifier
from faultline.inference.models import ModelSpec, resolve

SHIPPED = Path(faultline.inference.__file__).parent / "weights" / "grounding_minilm"


@pytest.fixture(scope="module")
def loaded():
    return load_adapter_checkpoint(SHIPPED)


def inputs(loaded, premise, claim):
    return loaded.tokenizer(premise, claim, return_tensors="pt")


def test_labels_are_named_and_size_is_bounded(loaded):
    assert set(loaded.label2id) == {"entailment", "neutral", "contradiction"}
    assert loaded.max_tokens == 512
    assert sum(f.stat().st_size for f in SHIPPED.iterdir()) < 25e6


def test_it_hears_a_swapped_value(loaded):
    premise = "Last Rampage: Last Rampage is a 2017 American crime film directed by Dwight H. Little."
    column = loaded.label2id["entailment"]
    true, false = (
        float(
            loaded.model(**inputs(loaded, premise, f"Last Rampage was directed by {who}.")).softmax(1)[
                0, column
            ]
        )
        for who in ("Dwight H. Little", "Arthur Rosson")
    )
    assert true > 0.5 > false


def test_the_generic_loader_and_the_package_resolver_find_it(loaded):
    spec = ModelSpec("grounding_minilm", package="faultline:inference/weights/grounding_minilm")
    assert load_classifier(resolve(spec)).digest == loaded.digest


def test_weights_are_base_plus_delta(loaded):
    delta = load_file(str(SHIPPED / "delta.safetensors"))
    base, _ = build(base_folder())
    name = "trunk.encoder.layer.3.output.dense.weight"
    step = (
        delta[f"{name}.up"].float() @ delta[f"{name}.down"].float()
        if f"{name}.up" in delta
        else delta[f"{name}.delta"].float()
    )
    expected = base.state_dict()[name] + step
    assert torch.equal(loaded.model.state_dict()[name], expected)
    words = "trunk.embeddings.word_embeddings.weight"
    assert torch.equal(loaded.model.state_dict()[words], base.state_dict()[words])


def test_segments_are_derived_from_the_separator(loaded):
    encoded = inputs(loaded, "A dog barks in the yard.", "It is loud.")
    given = loaded.model(**encoded)
    encoded.pop("token_type_ids")
    assert torch.equal(loaded.model(**encoded), given)


def test_padding_does_not_matter(loaded):
    encoded = inputs(loaded, "A dog barks in the yard.", "It is loud.")
    wide = {k: torch.nn.functional.pad(v, (0, 9)) for k, v in encoded.items()}
    assert torch.allclose(loaded.model(**wide), loaded.model(**encoded), atol=1e-5)


def test_a_changed_weight_changes_the_digest(loaded):
    before = weights_digest(loaded.model)
    assert before == loaded.digest
    other = load_adapter_checkpoint(SHIPPED).model
    with torch.no_grad():
        other.out.bias[0] += 1e-3
    assert weights_digest(other) != before


def copy(tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(SHIPPED, folder)
    return folder


@pytest.mark.parametrize("key", ["base_sha256", "delta_sha256"])
def test_other_weights_than_recorded_are_refused(tmp_path, key):
    folder = copy(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, key: "0" * 64}))
    with pytest.raises(ModelError, match=f"sha256 is not {key}"):
        load_adapter_checkpoint(folder)


def test_a_delta_for_another_model_is_refused(tmp_path):
    folder = copy(tmp_path)
    save_file({"trunk.no_such.weight.delta": torch.zeros(2, 2)}, str(folder / "delta.safetensors"))
    config = json.loads((folder / "config.json").read_text())
    config["delta_sha256"] = file_digest(folder / "delta.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"trunk.no_such.weight: no such weight"):
        load_adapter_checkpoint(folder)


def test_an_empty_folder_names_the_remedy(tmp_path):
    with pytest.raises(ModelError, match="train_nli"):
        load_adapter_checkpoint(tmp_path)


def test_factors_are_added_as_their_product():
    model = torch.nn.Linear(3, 2)
    before = model.weight.detach().clone()
    up, down = torch.randn(2, 1), torch.randn(1, 3)
    apply_delta(model, {"weight.up": up, "weight.down": down, "bias.delta": torch.ones(2)})
    assert torch.allclose(model.weight, before + up @ down)

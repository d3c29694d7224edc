import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from faultline.grounding.package import base_state, difference, export, low_rank
from faultline.inference.adapter import apply_delta, base_folder, build, load_adapter_checkpoint


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(0, 5))
def test_factors_are_the_best_of_their_rank(rank, seed):
    step = torch.randn(8, 6, generator=torch.Generator().manual_seed(seed))
    up, down = low_rank(step, rank)
    error = torch.linalg.norm(step - up @ down) ** 2
    left_out = torch.linalg.svdvals(step)[rank:]
    assert float(error) == pytest.approx(float((left_out**2).sum()), abs=1e-4)


def changed(seed=0):
    model, _ = build(base_folder())
    torch.manual_seed(seed)
    with torch.no_grad():
        weight = model.trunk.encoder.layer[0].output.dense.weight
        weight += 0.01 * torch.randn(384, 2) @ torch.randn(2, 1536)
        model.out.weight.normal_()
    return model


def test_only_changed_weights_are_shipped_and_restored():
    model = changed()
    delta = difference(model.state_dict(), base_state(), rank=2)
    trunk = {name for name in delta if name.startswith("trunk.")}
    name = "trunk.encoder.layer.0.output.dense.weight"
    assert trunk == {f"{name}.up", f"{name}.down"}
    again, _ = build(base_folder())
    again.load_state_dict(base_state())
    apply_delta(again, delta)
    assert torch.allclose(again.state_dict()[name], model.state_dict()[name], atol=1e-3)
    assert torch.allclose(again.out.weight, model.out.weight, atol=2e-3)


def test_without_a_rank_the_difference_is_shipped_whole():
    delta = difference(changed().state_dict(), base_state(), rank=None)
    assert all(name.endswith(".delta") for name in delta)


def test_an_exported_checkpoint_loads(tmp_path):
    model = changed()
    state = {f"model.{name}": weight for name, weight in model.state_dict().items()}
    torch.save({"state_dict": state}, tmp_path / "last.ckpt")
    export(tmp_path / "last.ckpt", tmp_path / "out", rank=4, max_tokens=128, extra={"seed": 1})
    loaded = load_adapter_checkpoint(tmp_path / "out")
    encoded = loaded.tokenizer("A dog barks.", "It is loud.", return_tensors="pt")
    assert torch.allclose(loaded.model(**encoded), model.eval()(**encoded), atol=2e-2)
    assert loaded.max_tokens == 128


def test_the_command_without_options_is_the_one_that_made_the_shipped_weights():
    config = OmegaConf.to_container(OmegaConf.load(Path(__file__).parents[2] / "conf" / "train_nli.yaml"))
    folder = Path(__file__).parents[2] / config["package"]["folder"]
    shipped = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert shipped["trained_steps"] == config["optim"]["max_steps"]
    assert config["optim"]["int8_from"] is None
    for part in ("optim", "pairs"):
        for name, value in shipped[part].items():
            assert config[part][name] == value, f"{part}.{name}"
    assert (shipped["seed"], shipped["rank"]) == (config["seed"], config["package"]["rank"])

import copy

import pytest
import torch

from faultline.grounding import fake_quant
from faultline.grounding.fake_quant import (
    FakeQuantLinear,
    agreement_loss,
    fake_input,
    fake_weight,
    prepare,
    rounding,
)


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return torch.nn.Linear(16, 8)


def test_weights_round_as_torch_rounds_them_by_channel():
    torch.manual_seed(1)
    weight = torch.randn(8, 16)
    scale = weight.abs().amax(1) / 127
    zero = torch.zeros(8, dtype=torch.int32)
    expected = torch.fake_quantize_per_channel_affine(weight, scale, zero, 0, -127, 127)
    torch.testing.assert_close(fake_weight(weight), expected)


def test_inputs_round_as_torch_rounds_them_over_the_tensor():
    torch.manual_seed(2)
    values = torch.randn(4, 5, 16) * 3 + 1
    low, high = float(values.min()), float(values.max())
    scale = (high - low) / 255
    expected = torch.fake_quantize_per_tensor_affine(values, scale, round(-low / scale), 0, 255)
    torch.testing.assert_close(fake_input(values), expected)


def test_zero_stays_zero_and_a_constant_stays_finite():
    assert fake_input(torch.zeros(3, 3)).eq(0).all()
    values = torch.full((2, 4), 5.0)
    values[0, 0] = 0.0
    assert fake_input(values)[0, 0] == 0
    torch.testing.assert_close(fake_input(torch.full((2, 2), 7.0)), torch.full((2, 2), 7.0))


def test_gradients_pass_straight_through(layer):
    (prepared,) = prepare(torch.nn.Sequential(layer))
    values = torch.randn(3, 16, requires_grad=True)
    with rounding([prepared]):
        prepared(values).sum().backward()
    torch.testing.assert_close(values.grad, fake_weight(layer.weight).sum(0).expand(3, 16))
    torch.testing.assert_close(layer.weight.grad, fake_input(values).sum(0).expand(8, 16))


def test_outside_the_block_the_layer_is_exact_and_its_state_keeps_its_names(layer):
    names = list(layer.state_dict())
    before = copy.deepcopy(layer)
    values = torch.randn(3, 16)
    (prepared,) = prepare(torch.nn.Sequential(layer))
    assert type(prepared) is FakeQuantLinear
    assert list(prepared.state_dict()) == names
    assert torch.equal(prepared(values), before(values))
    with rounding([prepared]):
        assert not torch.equal(prepared(values), before(values))
    assert torch.equal(prepared(values), before(values))


def test_rounded_layers_are_close_to_a_real_int8_layer(layer):
    from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic

    real = quantize_dynamic(
        torch.nn.Sequential(copy.deepcopy(layer)), {torch.nn.Linear: per_channel_dynamic_qconfig}
    )
    (prepared,) = prepare(torch.nn.Sequential(layer))
    values = torch.randn(64, 16)
    exact = layer(values)
    with rounding([prepared]):
        ours = prepared(values)
    error = (ours - exact).abs().mean()
    # torch gives activations seven bits (its kernels may overflow with eight), so twice the error is its own.
    assert (ours - real(values)).abs().mean() < 4 * error


def test_agreement_is_torchs_divergence_and_pulls_only_the_rounded():
    torch.manual_seed(3)
    rounded, exact = torch.randn(5, 3, requires_grad=True), torch.randn(5, 3, requires_grad=True)
    p, q = exact.softmax(1), rounded.softmax(1)
    expected = (p * (p / q).log()).sum(1).mean()
    loss = agreement_loss(rounded, exact)
    torch.testing.assert_close(loss, expected)
    loss.backward()
    assert exact.grad is None
    assert rounded.grad.abs().sum() > 0
    assert float(fake_quant.agreement_loss(exact, exact).detach()) == pytest.approx(0, abs=1e-6)

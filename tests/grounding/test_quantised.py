import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from faultline.grounding.quantised import band_width, flips
from faultline.inference.banded import rescore_band
from faultline.inference.quantise import dynamic_int8

PROBS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30)


def test_the_band_is_closed():
    assert rescore_band([0.62, 0.625, 0.72, 0.9], 0.72, 0.1).tolist() == [True, True, True, False]
    with pytest.raises(ValueError, match="width"):
        rescore_band([0.5], 0.72, -0.1)


def test_flips_of_a_worked_example():
    found = flips([0.70, 0.73, 0.90, 0.10], [0.74, 0.71, 0.50, 0.10], tau=0.72, width=0.05)
    assert (found.before, found.after, found.band, found.n) == (3, 1, 2, 4)


@given(PROBS)
def test_a_band_as_wide_as_band_width_repairs_every_flip(cases):
    exact, fast = map(np.array, zip(*cases, strict=True))
    width = band_width(exact, fast, 0.72) + 1e-12
    assert flips(exact, fast, 0.72, width).after == 0


@given(PROBS, st.floats(0, 1))
def test_rescoring_never_adds_flips(cases, width):
    exact, fast = map(np.array, zip(*cases, strict=True))
    found = flips(exact, fast, 0.72, width)
    assert found.after <= found.before


def test_the_int8_copy_is_close_and_leaves_the_original():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3)).eval()
    inputs = torch.randn(8, 16)
    before = model(inputs).detach().clone()
    fast = dynamic_int8(model)(inputs)
    assert not torch.equal(fast, before)
    assert torch.allclose(fast, before, atol=0.1)
    assert torch.equal(model(inputs), before)

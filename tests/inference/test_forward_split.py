from __future__ import annotations

import numpy as np
import pytest
import torch

from faultline.errors import ModelError
from faultline.inference.batches import Batch
from faultline.inference.forward import Forward, execute
from faultline.inference.jobs import InputSet


class SmallDevice(torch.nn.Module):
    """Sums token ids; more than ``fits`` padded tokens are too many for it, as they are for a full device."""

    def __init__(self, fits):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.fits = fits
        self.shapes = []

    def forward(self, ids, mask, types=None):
        self.shapes.append(tuple(ids.shape))
        if ids.numel() > self.fits:
            raise torch.OutOfMemoryError("full")
        return (ids * mask).sum(1, keepdim=True).float() * self.weight


def job_of(count, length=4):
    inputs = InputSet()
    for n in range(count):
        inputs.add(np.full(length, n + 1, np.int32), None, n)
    return inputs.job("text", "d" * 64, "fp32@cpu", 1000)


def forward_of(model):
    return Forward(model, model, 1, 0, "fp32", torch.device("cpu"))


@pytest.mark.parametrize("fits", [4, 12, 20, 1000])
def test_a_batch_that_does_not_fit_is_halved_until_it_does(fits):
    job, forward = job_of(7), forward_of(SmallDevice(fits))
    rows = execute(job, forward)
    # The sum that a batch of any size must give, written out.
    np.testing.assert_array_equal(rows[:, 0], [4.0 * (n + 1) for n in range(7)])
    assert (forward.splits > 0) == (fits < 28)
    done = [shape for shape in forward.core.shapes if shape[0] * shape[1] <= fits]
    assert sum(shape[0] for shape in done) == 7


def test_one_input_that_does_not_fit_is_a_one_line_error():
    job, forward = job_of(3), forward_of(SmallDevice(3))
    batch = Batch((0, 1, 2), 4)
    with pytest.raises(ModelError, match="one input of 4 tokens is too large") as caught:
        forward.rows(forward.inputs(job, batch), job, batch)
    assert "\n" not in str(caught.value)

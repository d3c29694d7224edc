import time

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import BertConfig, BertModel

from faultline.errors import ConfigError
from faultline.inference.speed import encoder_flops, gemm_peak, interleaved, peak_mb


def test_useful_work_is_what_torch_counts_for_the_same_encoder():
    config = BertConfig(
        vocab_size=50, hidden_size=24, num_hidden_layers=3, num_attention_heads=2, intermediate_size=40,
        attn_implementation="eager",
    )  # fmt: skip
    model = BertModel(config, add_pooling_layer=False).eval()
    counted = 0
    for length in (5, 17):
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model(torch.ones(1, length, dtype=torch.long))
        counted += counter.get_total_flops()
    assert encoder_flops([5, 17], 3, 24, 40) == pytest.approx(counted, rel=1e-9)
    assert encoder_flops([], 3, 24, 40) == 0


def test_contenders_take_turns_and_the_best_counts():
    seen = []
    pauses = iter([0.03, 0.001, 0.02])

    def slow():
        seen.append("slow")
        time.sleep(next(pauses))

    best = interleaved({"slow": slow, "quick": lambda: seen.append("quick")}, 3)
    assert seen == ["slow", "quick", "quick", "slow", "slow", "quick"]
    assert 0.001 <= best["slow"] < 0.02
    assert best["quick"] < best["slow"]
    with pytest.raises(ConfigError, match="at least 1"):
        interleaved({"a": print}, 0)


def test_the_machine_has_a_peak_and_a_process_holds_memory():
    assert 1e8 < gemm_peak(2, [128, 256]) < 1e14
    assert 20 < peak_mb() < 1e6

import csv

import lightning
import pytest
import torch
from transformers import BertConfig, BertModel

from faultline.grounding.batches import PairsData
from faultline.grounding.pairs import LABELS, Pair
from faultline.grounding.training import GroundingModule, LearningCurve, factor
from faultline.inference.adapter import GroundingClassifier


def test_the_rate_is_linear_between_the_points_of_the_schedule():
    points = [(-1, 0), (3, 1), (15, 1), (20, 0)]
    rates = [factor(s, points) for s in range(22)]
    assert rates[:5] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert rates[15:] == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2, 0.0, 0.0])


class WordTokenizer:
    """Ids by word length: enough to learn from, nothing to download."""

    sep_token_id, pad_token_id = 102, 0

    def __call__(self, premises, claims, **_):
        ids = [
            [101, *(3 + len(w) for w in p.split()), 102, *(3 + len(w) for w in c.split()), 102]
            for p, c in zip(premises, claims, strict=True)
        ]
        return {"input_ids": ids}


def module(total):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=110,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = GroundingClassifier(BertModel(config, add_pooling_layer=False))
    return GroundingModule(
        model,
        trunk_rate=1e-2,
        head_rate=1e-2,
        weight_decay=0.0,
        schedule=[(0, 0.5), (2, 1), (total - 4, 1), (total, 0)],
        label_smoothing=0.0,
    )


def data(start=0):
    pairs = [
        Pair("a " * (2 + i % 3), "bb" * (1 + i % 3), LABELS[i % 3], "s", "plain", str(i)) for i in range(60)
    ]
    settings = {"max_tokens": 32, "batch_tokens": 100, "batch_pairs": 6, "epochs": 20, "seed": 0}
    return PairsData(pairs, pairs[:12], WordTokenizer(), **settings, start=start)


def trainer(tmp_path, steps):
    return lightning.Trainer(
        accelerator="cpu",
        max_steps=steps,
        val_check_interval=10,
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        callbacks=[LearningCurve(tmp_path / "curve.csv")],
        default_root_dir=tmp_path,
    )


def test_it_learns_freezes_words_and_writes_a_curve(tmp_path):
    one = module(60)
    words = one.model.trunk.embeddings.word_embeddings.weight.detach().clone()
    trainer(tmp_path, 60).fit(one, data())
    rows = list(csv.DictReader((tmp_path / "curve.csv").open()))
    assert [int(r["step"]) for r in rows] == [10, 20, 30, 40, 50, 60]
    assert float(rows[-1]["accuracy"]) == 1.0
    assert torch.equal(one.model.trunk.embeddings.word_embeddings.weight, words)


def test_a_run_in_two_parts_gives_the_weights_of_one(tmp_path):
    whole = module(24)
    (tmp_path / "a").mkdir()
    trainer(tmp_path / "a", 24).fit(whole, data())
    (tmp_path / "b").mkdir()
    first = module(24)
    part = trainer(tmp_path / "b", 11)
    part.fit(first, data())
    part.save_checkpoint(tmp_path / "b" / "last.ckpt")
    second = module(24)
    trainer(tmp_path / "b", 24).fit(second, data(start=11), ckpt_path=str(tmp_path / "b" / "last.ckpt"))
    for a, b in zip(whole.state_dict().values(), second.state_dict().values(), strict=True):
        assert torch.equal(a, b)


def test_a_bar_is_told_every_step_once_and_those_before_a_resume():
    from types import SimpleNamespace

    from faultline.grounding.training import Steps

    told = []
    bar = Steps(told.append)
    for step in (100, 101, 101, 103):  # resumed at 99; accumulated gradients give no step
        bar.on_train_batch_end(SimpleNamespace(global_step=step), None, None, None, 0)
    assert told == [100, 1, 0, 2]

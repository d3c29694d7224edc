import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultline.grounding.batches import PairsData, collate, encode, plan
from faultline.grounding.pairs import Pair
from faultline.inference.adapter import base_folder


@settings(max_examples=50)
@given(st.lists(st.integers(1, 100), min_size=1, max_size=80), st.integers(0, 3))
def test_a_plan_holds_every_index_once_an_epoch_within_its_limits(lengths, seed):
    batches = plan(lengths, max_tokens=200, max_pairs=7, epochs=2, seed=seed)
    assert sorted(np.concatenate(batches).tolist()) == sorted(list(range(len(lengths))) * 2)
    for batch in batches:
        assert len(batch) <= 7
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= 200


def test_a_plan_is_repeatable_and_differs_by_epoch():
    lengths = list(range(1, 60))
    one = plan(lengths, max_tokens=120, max_pairs=8, epochs=2, seed=0)
    two = plan(lengths, max_tokens=120, max_pairs=8, epochs=2, seed=0)
    assert all((a == b).all() for a, b in zip(one, two, strict=True))
    half = len(plan(lengths, max_tokens=120, max_pairs=8, epochs=1, seed=0))
    assert [b.tolist() for b in one[:half]] != [b.tolist() for b in one[half:]]


def test_collate_pads_and_marks_the_claim():
    batch = collate([[101, 7, 102, 8, 102], [101, 102, 9, 102]], [0, 2], sep=102, pad=0)
    assert batch["input_ids"][1].tolist() == [101, 102, 9, 102, 0]
    assert batch["attention_mask"][1].tolist() == [1, 1, 1, 1, 0]
    assert batch["token_type_ids"].tolist() == [[0, 0, 0, 1, 1], [0, 0, 1, 1, 0]]
    assert batch["labels"].tolist() == [0, 2]


@pytest.fixture(scope="module")
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(base_folder()))


def test_segments_are_the_tokenizers(tokenizer):
    ids = encode(tokenizer, [Pair("A dog barks.", "It is loud.", "neutral", "a", "plain", "g")], 32)
    batch = collate(ids, [1], tokenizer.sep_token_id, tokenizer.pad_token_id)
    reference = tokenizer("A dog barks.", "It is loud.", return_tensors="pt")
    assert batch["token_type_ids"].tolist() == reference["token_type_ids"].tolist()


def test_a_resumed_loader_goes_on_where_the_plan_was_left(tokenizer):
    pairs = [Pair("word " * (i + 1), "claim", "neutral", "a", "plain", str(i)) for i in range(12)]
    settings = {"max_tokens": 32, "batch_tokens": 60, "batch_pairs": 4, "epochs": 2, "seed": 0}
    whole = list(PairsData(pairs, pairs, tokenizer, **settings).train_dataloader())
    rest = list(PairsData(pairs, pairs, tokenizer, **settings, start=3).train_dataloader())
    assert len(rest) == len(whole) - 3
    assert all((a["input_ids"] == b["input_ids"]).all() for a, b in zip(whole[3:], rest, strict=True))

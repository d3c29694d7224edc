from __future__ import annotations

import pytest
from tokenizers import processors

from faultline.errors import ModelError
from faultline.inference.template import learn, tokenize
from tests.inference import tiny


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("texts", [("w1 w2 w3", "w4"), ("w1", "w2 w2 w2"), ("", "w5")])
def test_assembled_as_the_tokenizer_does(pair, texts):
    tokenizer = tiny.tokenizer(32)
    template = learn(tokenizer, "tiny", pair=pair)
    first, second = tokenize(tokenizer, texts)
    ids, types = template.assemble(first, second if pair else None)
    expected = tokenizer(*texts) if pair else tokenizer(texts[0])
    assert ids.tolist() == expected["input_ids"]
    assert types.tolist() == expected["token_type_ids"]
    assert template.specials == tokenizer.num_special_tokens_to_add(pair)


def test_roberta_style_without_types():
    tokenizer = tiny.tokenizer(32)
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    template = learn(tokenizer, "tiny", pair=True)
    assert template.segments is None
    assert template.specials == 4
    ids, types = template.assemble(*tokenize(tokenizer, ["w1 w2", "w3"]))
    assert types is None
    assert ids.tolist() == tokenizer("w1 w2", "w3")["input_ids"]


def test_tokenize_ignores_a_stored_limit():
    tokenizer = tiny.tokenizer(8)
    tokenizer.backend_tokenizer.enable_truncation(4)
    tokenizer.backend_tokenizer.enable_padding(length=6)
    assert [ids.shape[0] for ids in tokenize(tokenizer, ["w1 " * 50, "w2", ""])] == [50, 1, 0]


def test_a_tokenizer_without_padding_is_refused():
    tokenizer = tiny.tokenizer(32)
    tokenizer.pad_token = None
    with pytest.raises(ModelError, match="padding token"):
        learn(tokenizer, "tiny", pair=True)

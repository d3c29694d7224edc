from collections import Counter

from multihop_cases import POOL, example

from faultline.grounding.chains import chain_pairs, passage_pairs
from faultline.grounding.values import contains


def test_a_chain_is_entailed_by_all_its_passages_and_open_without_the_last():
    found = list(chain_pairs(example(), POOL, seed=0))
    assert Counter(p.label for p in found if p.form == "chain_qa") == {
        "entailment": 1,
        "contradiction": 1,
        "neutral": 1,
    }
    for pair in found:
        both = "Last Rampage is a 2017" in pair.premise and "born January 13, 1956" in pair.premise
        assert both == (pair.label != "neutral")
        assert contains(pair.hypothesis, "January 13, 1956") == (pair.label != "contradiction")


def test_both_claims_of_a_chain_have_one_form():
    true, false = (
        p.hypothesis
        for p in chain_pairs(example(), POOL, seed=2)
        if p.label != "neutral" and p.form == "chain_qa"
    )
    at = true.index("January 13, 1956")
    assert false.startswith(true[:at])


def test_swapped_passages_differ_from_the_original_in_one_value():
    swapped = [
        p for seed in range(40) for p in passage_pairs(example(), seed, 1.0) if p.form == "passage_swap"
    ]
    assert swapped
    for pair in swapped:
        assert pair.label == "contradiction"
        assert pair.premise != pair.hypothesis


def test_a_sentence_is_entailed_by_a_premise_that_holds_its_words():
    found = [p for seed in range(40) for p in passage_pairs(example(), seed, 1.0)]
    sentences = [p for p in found if p.form == "passage_sentence" and p.label == "entailment"]
    assert sentences
    for pair in sentences:
        last = pair.hypothesis.split()[-1]
        assert last in pair.premise
    assert {"passage", "passage_part", "sentence_swap"} <= {p.form for p in found}


def test_the_share_is_of_passages():
    assert list(passage_pairs(example(), 0, 0.0)) == []

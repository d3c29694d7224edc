import numpy as np
from multihop_cases import POOL, example

from faultline.grounding.derive import donors, fact_pairs, hard_neutrals, other_value
from faultline.grounding.values import contains


def pairs(rounds=30):
    return list(fact_pairs(example(), POOL, seed=0, rounds=rounds))


def value_in(pair):
    """The value of whichever of the two facts the hypothesis claims."""
    return [fact.answer for fact in example().facts if contains(pair.hypothesis, fact.answer)]


def test_all_three_labels_and_many_forms():
    found = pairs()
    assert {p.label for p in found} == {"entailment", "neutral", "contradiction"}
    assert {"qa", "relation", "sentence", "stage1", "stage2", "stage4", "stage5"} <= {p.form for p in found}


def test_an_entailed_relation_claims_what_the_premise_says():
    for pair in pairs():
        if pair.label == "entailment" and pair.form == "relation":
            values = [*POOL["person"], *POOL["date"], *(f.answer for f in example().facts)]
            claimed = [v for v in values if contains(pair.hypothesis, v) and v != "Dwight H. Little"]
            assert all(contains(pair.premise, v) for v in claimed)


def test_a_contradiction_never_shares_its_value():
    for pair in pairs():
        if pair.label == "contradiction" and pair.form in {"relation", "qa"}:
            held = [f.answer for f in example().facts if contains(pair.premise, f.answer)]
            asked = "born" in pair.hypothesis or "birth" in pair.hypothesis
            value = "January 13, 1956" if asked else "Dwight H. Little"
            # Either the premise holds the value and the claim another one, or the other way round.
            assert (value in held) != contains(pair.hypothesis, value)


def test_a_neutral_premise_does_not_hold_the_fact():
    for pair in pairs():
        if pair.label == "neutral" and pair.form == "relation" and "directed" in pair.hypothesis:
            assert not (contains(pair.premise, "directed by Dwight H. Little"))


def test_the_same_seed_gives_the_same_pairs_whatever_the_order():
    again = pairs()
    assert pairs() == again
    assert list(fact_pairs(example(), POOL, seed=1, rounds=30)) != again


def test_other_value_is_of_the_kind_and_absent_from_the_text():
    rng = np.random.default_rng(0)
    for _ in range(20):
        found = other_value("January 13, 1956", "date", "born January 13, 1956, or 5 October 1987", POOL, rng)
        assert found not in {None, "January 13, 1956", "5 October 1987"}
    assert other_value("x", "work", "x", {}, rng) is None


def test_hard_neutrals_claim_a_relation_that_the_passage_has_no_word_for():
    for pair in hard_neutrals(example(), POOL, seed=0):
        assert pair.label == "neutral"
        assert "direct" not in pair.hypothesis or "direct" not in pair.premise


def test_donors_are_distinct_answers_by_kind():
    assert donors([example(), example()]) == {"person": ("Dwight H. Little",), "date": ("January 13, 1956",)}

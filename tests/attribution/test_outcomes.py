import pytest

from faultline.attribution import outcomes


@pytest.mark.parametrize(
    ("answer", "gold", "changed", "label"),
    [
        ("The Chief of Protocol.", "Chief of Protocol", "Barton Hazlewood", "resisted"),
        ("Barton Lee Hazlewood, I think", "Chief of Protocol", "Barton Lee Hazlewood", "absorbed"),
        ("an ambassador", "Chief of Protocol", "Barton Lee Hazlewood", "derailed"),
        ("both Chief of Protocol and Barton", "Chief of Protocol", "Barton", "resisted"),
        ("12,979 people", "9,984", "12979", "absorbed"),
        ("", "x", "y", "derailed"),
    ],
)
def test_labels(answer, gold, changed, label):
    assert outcomes.label(answer, gold, changed) == label


def test_four_fifths_of_the_gold_tokens():
    assert outcomes.is_correct("one two three four", "one two three four five")
    assert not outcomes.is_correct("one two three", "one two three four five")
    assert outcomes.covered("", "anything") == 0.0

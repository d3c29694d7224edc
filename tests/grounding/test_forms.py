import numpy as np
import pytest

from faultline.grounding import forms


@pytest.mark.parametrize(
    ("query", "statement"),
    [
        ("Who directed Last Rampage?", "X directed Last Rampage."),
        ("Who is the spouse of Green?", "The spouse of Green is X."),
        ("Which state borders Tennessee to the east?", "X borders Tennessee to the east."),
        ("When did it open?", None),
        ("What did he write?", None),
    ],
)
def test_simple_questions_become_statements(query, statement):
    assert forms.declared(query, "X") == statement


def test_every_template_has_the_fields_that_are_filled():
    rng = np.random.default_rng(0)
    for name in [*forms.RELATION_FORMS, "unheard of"]:
        for _ in range(12):
            text = forms.relation("SUBJ", name, "VAL", rng)
            assert "SUBJ" in text
            assert "VAL" in text


def test_stage_forms_carry_title_value_and_sentence():
    rng = np.random.default_rng(1)
    for _ in range(10):
        assert "Colombo" in forms.stage2("T", "It is near.", "Colombo", rng)
        assert "It is near." in forms.stage4("T", "It is near", rng)
        assert forms.stage5("B", "A", "It is near", rng).count("A") >= 1


@pytest.mark.parametrize(
    ("sentence", "title", "result"),
    [
        (" He died in 2005.", "Ekkehard Schall", "Ekkehard Schall died in 2005."),
        (" Its peak is high.", "Pilis", "Pilis's peak is high."),
        (" The film was shot in Arizona.", "Class (film)", "Class was shot in Arizona."),
        ("The Hague is a city.", "The Hague", "The Hague is a city."),
        ("He's late.", "X", "He's late."),
    ],
)
def test_leading_pronouns_are_resolved_to_the_title(sentence, title, result):
    assert forms.resolved(sentence, title) == result


def test_trimmed_drops_parentheses_only():
    assert forms.trimmed("Hirsh (born 1948), a producer (of film), won.") == "Hirsh, a producer, won."

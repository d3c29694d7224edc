import numpy as np
import pytest

from faultline import results
from faultline.errors import DataError
from faultline.grounding import card
from faultline.grounding.evaluate import BUCKET_NAMES, ScoredSet, rows, score
from faultline.grounding.pairs import LABELS, Pair


def scored(name="fever_symmetric", n=90, form="plain"):
    labels = [LABELS[i % 3] for i in range(n)]
    pairs = [
        Pair("word " * (10 if i < n / 2 else 100), f"c{i}", label, name, form, f"g{i // 2}")
        for i, label in enumerate(labels)
    ]
    probs = np.full((n, 3), 0.1)
    for i, label in enumerate(labels):
        probs[i, LABELS.index(label) if i % 9 else 1] = 0.8
    return ScoredSet(name, pairs, probs)


def by(found, metric, length="all"):
    (row,) = [r for r in found if r.metric == metric and r.condition == f"premise_words={length}"]
    return row


def test_rows_make_a_table_and_accuracy_is_counted():
    case = scored()
    found = rows(case, "tiny")
    table = results.frame(found)
    right = sum(case.probs[i].argmax() == case.true[i] for i in range(90))
    assert by(found, "accuracy").value == pytest.approx(right / 90)
    assert by(found, "majority").value == pytest.approx(1 / 3)
    assert set(table["condition"]) == {"premise_words=all", "premise_words=1-32", "premise_words=65-128"}
    assert by(found, "accuracy", "1-32").n_total == 45


def test_two_class_sets_count_entailment_against_the_rest():
    case = scored("scitail")
    expected = np.mean((case.probs[:, 0] >= 0.5) == (case.true == 0))
    assert by(rows(case, "tiny"), "accuracy").value == pytest.approx(expected)


def test_swapped_values_are_measured_on_derived_dev_sets_only():
    assert by(rows(scored("musique_dev", form="passage_swap"), "tiny"), "auc_swapped_value").value is not None
    assert all(r.metric != "auc_swapped_value" for r in rows(scored("anli_r1"), "tiny"))


def test_a_set_of_one_class_has_an_undefined_auc_and_says_so():
    case = scored()
    pairs = [Pair(p.premise, p.hypothesis, "neutral", p.source, p.form, p.group) for p in case.pairs]
    row = by(rows(ScoredSet("sick", pairs, case.probs), "tiny"), "auc_entailment")
    assert (row.value, row.n_missing, row.n_scored) == (None, 90, 0)
    assert "undefined" in row.note


def test_score_asks_the_verifier_for_premise_and_claim():
    class Verifier:
        digest = "d"

        def verify(self, pairs):
            assert pairs[0] == (scored().pairs[0].premise, "c0")
            return np.tile([0.2, 0.3, 0.5], (len(pairs), 1))

    (found,) = score({"sick": scored().pairs}, Verifier())
    assert found.probs.shape == (90, 3)


def test_bucket_names():
    assert BUCKET_NAMES == ("1-32", "33-64", "65-128", "129-256", "over 256")


def test_the_card_is_rewritten_between_its_marks(tmp_path):
    (tmp_path / "README.md").write_text(f"top\n{card.BEGIN}\nOLD TEXT\n{card.END}\nbottom\n")
    table = results.frame(rows(scored(), "tiny"))
    card.write_card(table, tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("top\n")
    assert text.endswith("bottom\n")
    assert "OLD TEXT" not in text
    assert "| fever_symmetric | 90 | .889" in text
    card.write_card(table, tmp_path)
    assert (tmp_path / "README.md").read_text() == text


def test_a_card_without_marks_is_an_error(tmp_path):
    (tmp_path / "README.md").write_text("nothing")
    with pytest.raises(DataError, match="put both marks"):
        card.write_card(results.frame(rows(scored(), "tiny")), tmp_path)


def test_the_curve_is_drawn(tmp_path):
    (tmp_path / "curve.csv").write_text("step,loss,accuracy,auc\n1,1.0,0.4,0.5\n2,0.9,0.5,0.6\n")
    card.learning_curve(tmp_path / "curve.csv", tmp_path / "figures" / "curve.png")
    assert (tmp_path / "figures" / "curve.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(DataError, match="train before"):
        card.learning_curve(tmp_path / "none.csv", tmp_path / "x.png")

import gzip
import os
from collections import Counter
from pathlib import Path

import pytest

from faultline.errors import DataError
from faultline.grounding import public

DATA = os.environ.get("FAULTLINE_DATA_DIR")
real = pytest.mark.skipif(not DATA, reason="FAULTLINE_DATA_DIR is not set")


def put(folder, name, text, encoding="utf-8"):
    (folder / name).write_bytes(gzip.compress(text.encode(encoding)))


def test_rows_without_a_label_or_a_side_are_left_out(tmp_path):
    put(tmp_path, "mnli_dev.csv.gz", 'premise,hypothesis,label\n"A, b",C,entailment\nA,C,-\n,C,neutral\n')
    (pair,) = public.mnli(tmp_path)
    assert (pair.premise, pair.hypothesis, pair.label, pair.source) == ("A, b", "C", "entailment", "mnli")


def test_quotation_marks_in_tabbed_text_are_text(tmp_path):
    put(
        tmp_path,
        "conjnli_adversarial_train_15k.tsv.gz",
        'Premise\tHypothesis\tLabel\n"South Park" began.\tIt "began.\tneutral\n',
        "utf-8-sig",
    )
    (pair,) = public.conjnli(tmp_path)
    assert (pair.premise, pair.hypothesis) == ('"South Park" began.', 'It "began.')


def test_taxinli_keeps_rows_whose_annotations_agree(tmp_path):
    put(
        tmp_path,
        "taxinli10k.tsv.gz",
        "prem\thyp\tlabel\tannotated_label\nA\tB\tneutral\tneutral\nC\tD\tneutral\tentailment\n",
    )
    assert [p.premise for p in public.taxinli(tmp_path)] == ["A"]


def test_pairs_of_one_premise_are_one_group(tmp_path):
    put(tmp_path, "mnli_dev.csv.gz", "premise,hypothesis,label\nA dog.,B,neutral\na dog,C,entailment\n")
    first, second = public.mnli(tmp_path)
    assert first.group == second.group


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"MED\.tsv\.gz"):
        list(public.med(tmp_path))


def test_training_and_evaluation_sets_are_disjoint():
    assert not set(public.TRAINING) & set(public.EVALUATION)


@real
@pytest.mark.data
def test_sizes_of_the_real_sets():
    folder = Path(DATA) / "nli"
    sizes = Counter(p.source for reader in public.EVALUATION.values() for p in reader(folder))
    assert sizes["fever_symmetric"] == 708 + 712
    assert sizes["wice"] == 1043 + 1070
    assert sizes["scitail"] == 2126
    assert (sizes["anli_r1"], sizes["anli_r2"], sizes["anli_r3"]) == (1000, 1000, 1198)
    assert sizes["sick"] == 4927
    assert sizes["negation_mnli"] == 1500


@real
@pytest.mark.data
def test_fever_text_is_joined_again():
    for pair in public.fever_symmetric(Path(DATA) / "nli"):
        assert " ." not in pair.hypothesis
        assert "-LRB-" not in pair.premise

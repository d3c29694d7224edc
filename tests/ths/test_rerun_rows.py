import numpy as np
import pandas as pd
import pytest

from faultline import results
from faultline.errors import DataError
from faultline.ths import osr, prompts
from faultline.ths.rerun_rows import Rerun, judged_rows, osr_revised, text_rows

RUN = Rerun("ths_judges", "own", "m", resamples=200)


def test_the_revision_leaves_short_texts_alone_and_takes_from_long_ones():
    text = "because the source is speculative therefore verified"
    assert osr_revised(text) == osr.osr(text)
    long = text + " word" * (300 - len(text.split()))
    c = osr.counts(text)
    by_hand = 0.4 * c.reasoning / 2 / 5 + 0.3 * min(c.metadata / 2 / 3, 1) + 0.3 * c.disclaimer / 2 / 5
    assert osr.osr(long) == osr.osr(text)
    assert osr_revised(long) == pytest.approx(by_hand)


def table(**columns):
    return pd.DataFrame({"promptid": ["a", "b", "c"], "subset": ["realistic", "realistic", "stress"],
                         "stage": "front", **columns})  # fmt: skip


def test_missing_texts_are_counted_and_not_scored():
    stages = table(text=["because", "", ""], hit=[True, False, False], missing=["", "timeout", "too_long"])
    rows = {(r.metric, r.condition): r for r in text_rows(RUN, stages, ";memory=none")}
    whole = rows["osr", "stage=front;subset=all;memory=none"]
    assert (whole.value, whole.n_scored, whole.n_missing) == (pytest.approx(0.08), 1, 2)
    assert whole.note == "missing: timeout=1, too_long=1"
    stress = rows["osr", "stage=front;subset=stress;memory=none"]
    assert (stress.value, stress.n_scored, stress.n_missing) == (None, 0, 1)
    results.frame(rows.values())


def test_ths_of_a_judge_is_equation_one_by_hand():
    kpis = {"FCD": [0.8, 0.4, np.nan], "FGR": [0.2, 0.4, np.nan], "FDF": [0.1, 0.1, np.nan],
            "ECS": [0.3, 0.5, np.nan], "OSR": [0.2, 0.2, 0.2]}  # fmt: skip
    scores = table(missing=["", "", "parse_error"], **kpis)
    rows = {(r.metric, r.condition): r for r in judged_rows(RUN, scores, "common:m", "")}
    four = rows["ths", "stage=front;subset=all;weighting=FourKPI"]
    assert four.value == pytest.approx(np.mean([(0.8 + 0.2 - 0.1 - 0.3) / 12, (0.4 + 0.4 - 0.1 - 0.5) / 12]))
    assert (four.n_scored, four.n_missing) == (2, 1)
    failed = rows["judge_missing", "stage=front;subset=all"]
    assert failed.value == pytest.approx(1 / 3) and failed.note == "missing: parse_error=1"
    results.frame(rows.values())


def test_a_users_list_loses_its_duplicates_and_says_how_many(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text('promptid,prompt,subset\n1,"a, b",stress\n2,c,realistic\n3,"a, b",stress\n')
    found = prompts.listed(path)
    assert [(p.id, p.text) for p in found.prompts] == [("1", "a, b"), ("2", "c")]
    assert found.duplicates == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [("promptid,prompt\n1,a\n", "no column subset"),
     ("promptid,prompt,subset\n1,a,odd\n", "row 2, subset='odd'"),
     ("promptid,prompt,subset\n1,a,stress\n1,b,stress\n", "row 3, promptid occurs twice"),
     ("", "cannot be read")],
)  # fmt: skip
def test_a_bad_list_names_row_and_field(tmp_path, text, problem):
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=problem):
        prompts.listed(path)


@pytest.mark.data
def test_truthfulqa_has_its_817_questions():
    from faultline.corpora.files import data_dir

    folder = data_dir()
    if folder is None:
        pytest.skip("FAULTLINE_DATA_DIR is not set: no real data")
    found = prompts.truthfulqa(folder)
    assert len(found.prompts) + found.duplicates == 817

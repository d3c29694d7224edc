"""The split list: made from the data files, committed, and asserted."""

from importlib import resources

import orjson
import pytest

from faultline.corpora import splits
from faultline.corpora.files import read_records
from faultline.errors import DataError
from faultline.records import Task


@pytest.fixture(scope="module")
def committed():
    return orjson.loads(resources.files("faultline.corpora").joinpath("splits.json").read_bytes())


@pytest.mark.data
def test_the_committed_list_is_the_one_of_the_data_files(data_dir, committed):
    assert splits.build(data_dir) == committed


def test_train_and_test_are_disjoint_and_sorted(committed):
    assert set(committed) == set(splits.FILES)
    for by_split in committed.values():
        assert not set(by_split["train"]) & set(by_split["test"])
        for ids in by_split.values():
            assert ids == sorted(set(ids)) and all(len(i) == 12 for i in ids)


def tasks_of(data_dir, split):
    name = splits.FILES["hotpotqa"][split][0]
    records = read_records(data_dir / "hotpotqa" / name)
    return [Task(where, record["question"], "p") for where, record in records]


@pytest.mark.data
@pytest.mark.parametrize(("split", "other"), [("test", "train"), ("train", "test")])
def test_a_question_of_the_other_split_is_refused(data_dir, split, other):
    own, foreign = tasks_of(data_dir, split), tasks_of(data_dir, other)[:1]
    assert splits.check("hotpotqa", split, own) == len(own)
    with pytest.raises(DataError, match=f"is a {other} question, used in a {split} run; fit on train"):
        splits.check("hotpotqa", split, own + foreign)


def test_own_questions_and_own_data_sets_are_not_listed():
    task = Task("t", "What is the name of the ferry to Qwolmark?", "p")
    assert splits.check("hotpotqa", "test", [task]) == 0
    assert splits.check("own", "train", [task]) == 0


def test_a_digest_forgets_case_articles_and_marks():
    assert splits.question_digest("Who is the Mayor?") == splits.question_digest("who is  mayor")
    assert splits.question_digest("Who is mayor?") != splits.question_digest("Who was mayor?")


def test_a_question_in_both_splits_stops_the_build(tmp_path, monkeypatch):
    (tmp_path / "own").mkdir()
    for split in ("train", "test"):
        (tmp_path / "own" / f"{split}.jsonl").write_text('{"question": "Same?"}\n')
    files = {"own": {"train": ("train.jsonl",), "test": ("test.jsonl",)}}
    monkeypatch.setattr(splits, "FILES", files)
    with pytest.raises(DataError, match="own: 1 questions are in train and dev files"):
        splits.build(tmp_path)

import os
from pathlib import Path

import pytest
from multihop_cases import FILM

from faultline.errors import DataError
from faultline.grounding import collect as room
from faultline.grounding.multihop import read
from faultline.grounding.pairs import Pair, held_out, normalised
from faultline.records import Passage

DATA = os.environ.get("FAULTLINE_DATA_DIR")
real = pytest.mark.skipif(not DATA, reason="FAULTLINE_DATA_DIR is not set")


def test_pairs_that_share_a_long_text_with_an_evaluation_set_are_dropped():
    known = Pair("The cat sat on the mat today.", "A cat", "neutral", "eval", "plain", "g")
    copy = Pair("the cat sat on the mat today", "Dogs bark", "neutral", "mnli", "plain", "h")
    short = Pair("Dogs bark loudly at night, always.", "a cat", "neutral", "mnli", "plain", "i")
    assert room.without_evaluation_text([copy, short], [known]) == ([short], 1)


def test_a_passage_is_recognised_when_it_was_cut():
    long = Passage("a", "T", tuple(f" word{i}" for i in range(60)))
    cut = Passage("b", "U", ("word0  word1, ", *(f"word{i} " for i in range(2, 40))))
    assert room.passage_key(long) == room.passage_key(cut)
    assert room.passage_key(long) != room.passage_key(FILM)


def test_an_evaluation_set_may_not_be_a_source(tmp_path):
    with pytest.raises(DataError, match="may not be trained on"):
        room.collect(
            tmp_path, seed=0, sources=["scitail"], caps={}, repeats={}, share=0.1, rounds=1, passages=0.1
        )


def test_a_pattern_without_files_is_an_error(tmp_path):
    with pytest.raises(DataError, match="FAULTLINE_DATA_DIR"):
        room.matching(tmp_path, room.TRAIN_FILES)


@real
@pytest.mark.data
def test_no_train_question_is_a_dev_question_and_no_gold_passage_is_shared():
    data = Path(DATA)
    train, report = room.train_examples(data)
    dev = [e for found in room.dev_examples(data).values() for e in found]
    asked = {normalised(e.question) for e in dev} | room.dev_questions(data)
    assert not {normalised(e.question) for e in train} & asked
    gold = {room.passage_key(p) for e in dev for p in e.support}
    assert not {room.passage_key(p) for e in train for p in (*e.support, *e.others)} & gold
    assert len(train) > 800
    assert report["questions.dropped_dev_gold_support"] > 0


@real
@pytest.mark.data
def test_a_dev_file_among_the_train_files_stops(monkeypatch):
    monkeypatch.setattr(room, "TRAIN_FILES", room.DEV_FILES)
    with pytest.raises(DataError, match="also in a dev file"):
        room.train_examples(Path(DATA))


@real
@pytest.mark.data
@pytest.mark.slow
def test_both_sides_of_the_split_have_their_own_groups():
    settings = {"caps": {"mnli": 300}, "repeats": {"mnli": 2}, "share": 0.08, "rounds": 1, "passages": 0.05}
    found = room.collect(Path(DATA), seed=0, sources=["mnli"], **settings)
    assert not {p.group for p in found.train} & {p.group for p in found.held_out}
    assert all(held_out(p.group, 0.08) for p in found.held_out)
    mnli = [p for p in found.train if p.source == "mnli"]
    assert len(mnli) == 600
    assert len(set(mnli)) == 300


@real
@pytest.mark.data
def test_train_files_are_train_files():
    assert all("train" in p.name for p in room.matching(Path(DATA), room.TRAIN_FILES))
    assert all("dev" in p.name for p in room.matching(Path(DATA), room.DEV_FILES))
    assert sum(len(read(p)) for p in room.matching(Path(DATA), room.DEV_FILES)) > 1000

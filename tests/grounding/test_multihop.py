import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.errors import DataError
from faultline.grounding.multihop import read, split_sentences

TWOWIKI = {
    "_id": "w1",
    "type": "compositional",
    "question": "When was the director of film Last Rampage born?",
    "context": [
        ["Last Rampage", ["Last Rampage is a film directed by Dwight H. Little.", "It is long."]],
        ["Dwight H. Little", ["Dwight H. Little (born January 13, 1956) is a director."]],
        ["Pilis", ["Pilis is in Hungary."]],
    ],
    "supporting_facts": [["Last Rampage", 0], ["Dwight H. Little", 0]],
    "evidences": [
        ["Last Rampage", "director", "Dwight H. Little"],
        ["Dwight H. Little", "date of birth", "January 13, 1956"],
    ],
    "answer": "January 13, 1956",
}
MUSIQUE = {
    "id": "2hop__1_2",
    "question": "Where was the performer of Get Low born?",
    "answer": "Oakland",
    "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "Get Low", "paragraph_text": "Get Low is by Dillon Francis. It is loud."},
        {"idx": 1, "title": "Dillon Francis", "paragraph_text": "Dillon Francis was born in Oakland."},
        {"idx": 2, "title": "Pilis", "paragraph_text": "Pilis is in Hungary."},
    ],
    "question_decomposition": [
        {"question": "Get Low >> performer", "answer": "Dillon Francis", "paragraph_support_idx": 0},
        {"question": "Where was #1 born?", "answer": "Oakland", "paragraph_support_idx": 1},
    ],
}
HOTPOT = {
    "question": "Who directed the film shot in Leland in 1986?",
    "answer": "Stephen King",
    "type": "bridge",
    "supporting_facts": {"title": ["Maximum Overdrive", "Leland"], "sent_id": [0, 1]},
    "context": {
        "title": ["Leland", "Maximum Overdrive", "Pilis"],
        "sentences": [
            ["Leland is a town.", " A film was made there."],
            ["It was directed by Stephen King."],
            ["Hills."],
        ],
    },
}


def write(tmp_path, folder, records, lines=False):
    path = tmp_path / folder / "x.json.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(map(json.dumps, records)) if lines else json.dumps(records)
    path.write_bytes(gzip.compress(text.encode()))
    return path


@pytest.mark.parametrize("lines", [True, False])
def test_twowiki_facts_name_their_passage_and_sentence(tmp_path, lines):
    (found,) = read(write(tmp_path, "2wikimultihopqa", [TWOWIKI], lines))
    assert [(f.subject, f.relation, f.passage.title, f.sentence, f.kind) for f in found.facts] == [
        ("Last Rampage", "director", "Last Rampage", 0, "person"),
        ("Dwight H. Little", "date of birth", "Dwight H. Little", 0, "date"),
    ]
    assert found.support[0].text == "Last Rampage is a film directed by Dwight H. Little. It is long."
    assert [p.title for p in found.others] == ["Pilis"]


def test_musique_fills_earlier_answers_and_reads_relations(tmp_path):
    (found,) = read(write(tmp_path, "musique", [MUSIQUE]))
    assert [f.query for f in found.facts] == [
        "What is the performer of Get Low?",
        "Where was Dillon Francis born?",
    ]
    assert [f.relation for f in found.facts] == ["performer", ""]


def test_unanswerable_musique_is_left_out(tmp_path):
    hop = {**MUSIQUE["question_decomposition"][0], "paragraph_support_idx": None}
    broken = {**MUSIQUE, "question_decomposition": [hop]}
    assert read(write(tmp_path, "musique", [{**MUSIQUE, "answerable": False}, broken])) == []


def test_hotpot_in_the_hub_layout_ends_with_the_passage_of_the_answer(tmp_path):
    (found,) = read(write(tmp_path, "hotpotqa", [HOTPOT]))
    assert [p.title for p in found.support] == ["Leland", "Maximum Overdrive"]
    assert found.facts == ()


def test_a_record_without_a_field_is_named(tmp_path):
    path = write(tmp_path, "musique", [MUSIQUE, {"id": "x", "answerable": True}])
    with pytest.raises(DataError, match=r"record 1 has no field 'paragraphs'"):
        read(path)


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match="not in a folder named"):
        read(write(tmp_path, "frames", [TWOWIKI]))


@given(st.text(alphabet='aB1 .!?\n"', max_size=60))
def test_sentences_joined_are_the_text(text):
    assert "".join(split_sentences(text)) == text

"""Kinds of answer strings: examples read by eye, and totality."""

import gzip
import json
import os
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.corpora.answer_kinds import Kind, kind_of
from faultline.corpora.synthetic import Synthetic


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("yes", "yes_no"), ("No.", "yes_no"),
        ("1984", "year"), ("1990s", "year"), ("1939-45", "year"), ("c. 1066", "year"),
        ("October 6, 2008", "date"), ("6 October 2008", "date"), ("March 2 and 3, 2012", "date"),
        ("19th century", "date"), ("2008-10-06", "date"), ("May 1904", "date"),
        ("15,416", "number"), ("150 million", "number"), ("five", "number"), ("twenty-five", "number"),
        ("eighth", "number"), ("$1.5 billion", "number"), ("42%", "number"), ("12", "number"),
        ('"The Walking Dead"', "work"), ("Alien: Covenant", "work"),
        ("Walt Disney Pictures.", "organisation"), ("LG Electronics Inc.", "organisation"),
        ("University of Oxford", "organisation"), ("Mississippi State Senate", "organisation"),
        ("New York City", "place"), ("the United States", "place"), ("Columbus, Ohio", "place"),
        ("Anne Arundel County", "place"), ("Washington, D.C.", "place"),
        ("Betty Cohen", "person"), ("R. J. Mitchell", "person"), ("Waylon J. Smithers Jr.", "person"),
        ("Hank Williams, Jr.", "person"), ('Theodorus "Theo" van Gogh', "person"), ("Michael I", "person"),
        ("Choi Jin-ri", "person"), ("Mélanie Watt", "person"),
        ("opera", "entity"), ("Step Up", "entity"), ("Buddy's Pizza", "entity"), ("Canberra", "entity"),
        ("the Army of the Potomac", "entity"), ("UK National Lottery", "entity"), ("World War II", "entity"),
        ("Maroon 5", "entity"), ("21st Century Fox", "entity"), ("", "entity"),
    ],
)  # fmt: skip
def test_examples(text, kind):
    assert kind_of(text) == kind


@given(st.text(max_size=40))
def test_total_and_blind_to_blanks(text):
    assert kind_of(text) in get_args(Kind)
    assert kind_of(f"  {text} ") == kind_of(text)


def test_agrees_with_the_synthetic_annotation_where_the_string_tells():
    corpus = Synthetic(questions={"2hop": 60, "3hop": 60}).load()
    hops = [hop for gold in corpus.gold.values() for hop in gold.hops]
    for hop in hops:
        if hop.kind in ("person", "year", "date", "number"):
            assert kind_of(hop.answer) == hop.kind


@pytest.mark.data
def test_distribution_on_hotpotqa_train():
    root = os.environ.get("FAULTLINE_DATA_DIR")
    if not root:
        pytest.skip("FAULTLINE_DATA_DIR is not set")
    answers = []
    for path in sorted(Path(root, "hotpotqa").glob("*train*.gz")):
        text = gzip.decompress(path.read_bytes()).decode()
        records = (
            [json.loads(line) for line in text.splitlines()] if "jsonl" in path.name else json.loads(text)
        )
        answers += [record["answer"] for record in records]
    kinds = Counter(map(kind_of, answers))
    assert len(answers) == 300
    assert kinds["yes_no"] == sum(a.strip(". ").lower() in ("yes", "no") for a in answers)
    assert kinds["entity"] < 0.4 * len(answers)
    assert 60 <= kinds["person"] <= 100

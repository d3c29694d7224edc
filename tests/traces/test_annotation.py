"""Annotations of traces: read as documented, refused with file, line and field."""

import json
from pathlib import Path

import pytest

from faultline.errors import DataError
from faultline.traces.annotation import read

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "traces_gold.jsonl"


def test_the_example():
    found = read(EXAMPLE)
    assert {name: a.hop for name, a in found.items()} == {"clean": None, "poisoned": 1, "sure": None}
    assert [hop.answer for hop in found["poisoned"].gold.hops] == ["Mira Tolk", "Osterby"]
    assert found["sure"].gold.answers == ("1900",)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ("[1]", "no JSON object with an id"),
        ({"answers": ["x"]}, "no JSON object with an id"),
        ({"id": "a"}, "field answers"),
        ({"id": "a", "answers": []}, "at least one"),
        ({"id": "a", "answers": [" "]}, "no list of texts"),
        ({"id": "a", "answers": ["x"], "hop": 0}, "field hop: 0"),
        ({"id": "a", "answers": ["x"], "hop": True}, "field hop: True"),
        ({"id": "a", "answers": ["x"], "hop_answers": "y"}, "field hop_answers"),
    ],
)
def test_a_broken_line_is_named(tmp_path, record, said):
    path = tmp_path / "gold.jsonl"
    told = record if isinstance(record, str) else json.dumps(record)
    path.write_text('{"id": "ok", "answers": ["x"]}\n\n' + told + "\n")
    with pytest.raises(DataError, match="line 3") as error:
        read(path)
    assert said in str(error.value)


def test_twice_and_nowhere(tmp_path):
    path = tmp_path / "gold.jsonl"
    path.write_text('{"id": "a", "answers": ["x"]}\n' * 2)
    with pytest.raises(DataError, match="comes twice"):
        read(path)
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "none")

"""Reading records: formats, packing, and errors that name file, record and field."""

import bz2
import gzip
import json

import pytest

from faultline.corpora.files import DATA_DIR, data_dir, field, read_records
from faultline.errors import DataError

RECORDS = [{"a": 1}, {"a": "zwei", "b": [None]}, {"a": "é\u2028"}]
ARRAY = json.dumps(RECORDS, indent=1).encode()
LINES = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in RECORDS[:2]).encode()


@pytest.mark.parametrize("pack", [lambda b: b, gzip.compress, bz2.compress], ids=["plain", "gz", "bz2"])
@pytest.mark.parametrize("stem", ["x.json", "x.jsonl"], ids=["json", "jsonl"])
@pytest.mark.parametrize(("body", "word"), [(ARRAY, "record"), (LINES, "line")], ids=["array", "lines"])
def test_every_format_under_every_name(tmp_path, pack, stem, body, word):
    suffix = {gzip.compress: ".gz", bz2.compress: ".bz2"}.get(pack, "")
    path = tmp_path / (stem + suffix)
    path.write_bytes(pack(body))
    found = list(read_records(path))
    assert [record for _, record in found] == RECORDS[: len(found)]
    assert [where for where, _ in found] == [f"{path.name} {word} {n}" for n in range(1, len(found) + 1)]
    assert len(found) == (3 if word == "record" else 2)


def test_blank_lines_count_but_hold_nothing(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'\n{"a": 1}\r\n   \n{"a": 2}')
    assert list(read_records(path)) == [("x.jsonl line 2", {"a": 1}), ("x.jsonl line 4", {"a": 2})]


def test_a_byte_order_mark_does_not_matter(tmp_path):
    for body in (b"\xef\xbb\xbf" + ARRAY, b"\xef\xbb\xbf" + LINES):
        path = tmp_path / "x.json"
        path.write_bytes(body)
        assert next(read_records(path))[1] == {"a": 1}


def test_an_empty_file_has_no_records(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b"")
    assert list(read_records(tmp_path / "x.jsonl")) == []


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("x.jsonl", b'{"a": 1}\n{"a": \n{"a": 3}\n', "x.jsonl line 2: not valid JSON .* repair or remove"),
        ("x.jsonl", b'{"a": 1}\n[1]\n', "x.jsonl line 2: expected an object, found list"),
        ("x.json", b'[{"a": 1}, 3]', "x.json record 2: expected an object, found int"),
        ("x.json", b'[{"a": 1}, ', "x.json: not valid JSON"),
        ("x.json.gz", b"not gzip", "x.json.gz: cannot be read"),
        ("x.json.gz", gzip.compress(ARRAY)[:-9], "x.json.gz: cannot be read"),
        ("x.json.gz", gzip.compress(ARRAY)[:12] + b"\xff" * 30, "x.json.gz: cannot be read"),
        ("x.json.bz2", b"not bzip2", "x.json.bz2: cannot be read"),
        ("x.json.bz2", bz2.compress(ARRAY)[:-9], "x.json.bz2: cannot be read"),
    ],
    ids=lambda value: (
        value if isinstance(value, str) and value.startswith("x.json") and " " not in value else ""
    ),
)
def test_a_broken_file_is_named(tmp_path, name, body, words):
    (tmp_path / name).write_bytes(body)
    with pytest.raises(DataError, match=words) as caught:
        list(read_records(tmp_path / name))
    assert "\n" not in str(caught.value)


def test_a_missing_file_names_the_variable(tmp_path):
    with pytest.raises(DataError, match=f"absent.json: no such file; check the path, or {DATA_DIR}"):
        list(read_records(tmp_path / "absent.json"))


@pytest.mark.parametrize(
    ("record", "kind", "words"),
    [
        ({}, str, "f line 1: field 'q' is missing"),
        ({"q": 1}, str, "f line 1: field 'q' is int, expected str"),
        ({"q": True}, int, "field 'q' is bool, expected int"),
        ({"q": None}, (list, dict), "field 'q' is NoneType, expected list or dict"),
    ],
)
def test_a_field_that_is_missing_or_of_another_type(record, kind, words):
    with pytest.raises(DataError, match=words):
        field(record, "q", kind, "f line 1")


def test_a_field_of_the_right_type():
    assert field({"q": "x"}, "q", str, "") == "x"
    assert field({"q": True}, "q", bool, "") is True
    assert field({"q": [1]}, "q", (list, dict), "") == [1]


def test_the_folder_is_the_argument_or_the_variable_or_none(tmp_path, monkeypatch):
    monkeypatch.delenv(DATA_DIR, raising=False)
    assert data_dir() is None
    monkeypatch.setenv(DATA_DIR, "")
    assert data_dir() is None
    monkeypatch.setenv(DATA_DIR, str(tmp_path))
    assert data_dir() == tmp_path
    assert data_dir(tmp_path / "..").resolve() == tmp_path.parent
    monkeypatch.setenv(DATA_DIR, str(tmp_path / "gone"))
    with pytest.raises(DataError, match="no such folder; point it at"):
        data_dir()

"""Records to canonical JSON and back."""

import json
import string

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultline.codec import decode, encode, key_of
from faultline.errors import DataError, Missing
from faultline.records import Certificate, Edit, Gold, Hint, Hit, Hop, Passage, Stage, Task, Trajectory

text = st.text(max_size=12)
number = st.floats(allow_nan=False, allow_infinity=False)
missing = st.none() | st.sampled_from(list(Missing))
passages = st.builds(Passage, text, text, st.lists(text, max_size=3).map(tuple))
hits = st.lists(st.builds(Hit, passages, number, st.integers(1, 9)), max_size=3).map(tuple)
stages = st.builds(
    Stage,
    index=st.integers(1, 9),
    kind=st.sampled_from(["retrieval", "reasoning", "tool_call", "synthesis"]),
    text=text,
    query=text,
    hits=hits,
    answer=st.none() | text,
    confidence=st.none() | number,
    confidence_source=st.sampled_from(["logprobs", "stated", "none"]),
    token_logprobs=st.lists(number, max_size=3).map(tuple),
    missing=missing,
)
edits = st.builds(Edit, text, st.integers(0, 99), st.integers(0, 99), text, text)
certificates = st.builds(
    Certificate,
    fault=text,
    cascade_type=text,
    scope=st.sampled_from(["call", "corpus", "context"]),
    stage=st.integers(1, 9),
    target=text,
    edits=st.lists(edits, max_size=3).map(tuple),
    generator=text,
    donor=st.none() | text,
)
trajectories = st.builds(
    Trajectory,
    id=text,
    dataset=text,
    task_id=text,
    condition=text,
    sample=st.integers(0, 9),
    question=text,
    stages=st.lists(stages, max_size=3).map(tuple),
    answer=st.none() | text,
    backbone=text,
    missing=missing,
    certificate=st.none() | certificates,
)
hops = st.builds(
    Hop,
    text,
    text,
    st.none() | text,
    text,
    st.none() | st.tuples(st.integers(0, 99), st.integers(0, 99)),
    text,
    st.lists(st.integers(1, 4), max_size=2).map(tuple),
)
golds = st.builds(
    Gold,
    task_id=text,
    answers=st.lists(text, max_size=3).map(tuple),
    hops=st.lists(hops, max_size=3).map(tuple),
    support=st.lists(text, max_size=2).map(tuple),
    question_type=text,
    answer_hop=st.none() | st.integers(1, 4),
)
others = st.one_of(
    golds,
    st.builds(Task, text, text, text, st.lists(text, max_size=2).map(tuple)),
    st.builds(Hint, text, text, st.integers(1, 4)),
)


@settings(max_examples=80, deadline=None)
@given(trajectories | others)
def test_every_record_comes_back_equal(record):
    blob = encode(record)
    back = decode(type(record), orjson.loads(blob))
    assert back == record
    assert encode(back) == blob
    json.loads(blob)  # the standard library agrees that it is JSON


def test_the_missing_reason_comes_back_as_the_enumeration():
    stage = Stage(1, "retrieval", "", missing=Missing.NO_SPAN)
    assert decode(Stage, orjson.loads(encode(stage))).missing is Missing.NO_SPAN


@given(
    st.dictionaries(st.text(string.ascii_letters, max_size=5), st.integers(-5, 5), max_size=6), st.randoms()
)
def test_bytes_are_sorted_by_key_whatever_the_order(mapping, random):
    items = list(mapping.items())
    random.shuffle(items)
    blob = encode(dict(items))
    assert blob == encode(mapping)
    assert blob == json.dumps(mapping, sort_keys=True, separators=(",", ":")).encode()
    assert key_of(dict(items)) == key_of(mapping)


def test_keys_differ_with_content_and_have_the_length_asked_for():
    assert key_of({"a": 1}) != key_of({"a": 2})
    assert key_of({"a": 1}, 24)[:16] == key_of({"a": 1})
    assert len(key_of([], 24)) == 24


BAD = [float("nan"), float("inf"), float("-inf")]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(
    "place",
    [
        lambda x: x,
        lambda x: {"a": [1, (2, {"b": x})]},
        lambda x: Hit(Passage("p", "", ()), x, 1),
        lambda x: Stage(1, "retrieval", "", token_logprobs=(0.0, x)),
        lambda x: np.float64(x),
        lambda x: np.float32(x),
        lambda x: [np.array([1.0, x])],
    ],
)
def test_nan_and_infinity_are_refused_wherever_they_stand(bad, place):
    with pytest.raises(DataError, match="NaN or infinity"):
        encode(place(bad))


def test_numpy_numbers_and_arrays_are_stored():
    stored = encode({"a": np.int64(3), "b": np.float64(0.5), "c": np.arange(3)})
    assert stored == b'{"a":3,"b":0.5,"c":[0,1,2]}'


def test_a_type_that_json_lacks_is_refused():
    with pytest.raises(DataError, match="cannot be stored as JSON"):
        encode({"a": {1, 2}})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"text": "t", "value": "v", "hop": 1, "colour": "red"}, "Hint: unknown field 'colour'"),
        ({"text": "t", "hop": 1}, "Hint: .*'value'"),
        (["text"], "Hint: expected an object, found list"),
    ],
)
def test_a_record_of_the_wrong_shape_is_named(data, words):
    with pytest.raises(DataError, match=words):
        decode(Hint, data)


def test_an_unknown_field_deep_inside_is_named():
    data = orjson.loads(encode(Stage(1, "retrieval", "", hits=(Hit(Passage("p", "T", ("S.",)), 1.0, 1),))))
    data["hits"][0]["passage"]["extra"] = 1
    with pytest.raises(DataError, match="Passage: unknown field 'extra'"):
        decode(Stage, data)


@pytest.mark.parametrize(
    ("field", "value"),
    [("hits", None), ("hits", 3), ("missing", "no_such_reason"), ("hits", [3]), ("token_logprobs", 1.0)],
)
def test_a_field_of_the_wrong_shape_is_a_data_error(field, value):
    data = orjson.loads(encode(Stage(1, "retrieval", "")))
    data[field] = value
    with pytest.raises(DataError, match=r"Stage|Hit"):
        decode(Stage, data)


def test_a_span_of_three_numbers_is_a_data_error():
    data = orjson.loads(encode(Hop("q", "", None, "a", (0, 1))))
    data["span"] = [0, 1, 2]
    with pytest.raises(DataError, match="Hop"):
        decode(Hop, data)

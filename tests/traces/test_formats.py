"""The same run in four formats gives the same stages; what cannot be read is named, and nothing is run."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from faultline.errors import ConfigError, DataError
from faultline.traces.reading import detected, read

FILES = Path(__file__).parent / "files"
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "traces.jsonl"
FOUND = "Arvenholm was founded by Mira Tolk in 1900."
SAID = "Arvenholm was founded by Mira Tolk."
ASKED = "Who founded Arvenholm?"


def shape(trajectory):
    return [(s.kind, s.query, s.text) for s in trajectory.stages]


def value(v):
    return {"stringValue": v} if isinstance(v, str) else {"intValue": str(v)}


def span(name, at, trace="t1", **told):
    attributes = [{"key": k.replace("__", "."), "value": value(v)} for k, v in told.items()]
    end = str(1_000_000_000_000_000_000 + at)
    return {"traceId": trace, "spanId": name, "name": name, "endTimeUnixNano": end, "attributes": attributes}


def message(role, text):
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


SPANS = [
    span("agent", 9, gen_ai__operation__name="invoke_agent", gen_ai__input__messages=message("user", ASKED)),
    span(
        "said",
        8,
        gen_ai__operation__name="chat",
        gen_ai__output__messages=message("assistant", SAID),
        gen_ai__response__model="gpt-4o",
    ),
    span(
        "tool",
        5,
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__call__arguments=json.dumps({"query": "founder of Arvenholm"}),
        gen_ai__tool__call__result=FOUND,
    ),
]


def document(spans):
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


RUNS = [
    {"id": "r", "run_type": "chain", "inputs": {"question": ASKED}, "outputs": {}, "end_time": "9"},
    {
        "id": "b",
        "parent_run_id": "r",
        "run_type": "retriever",
        "inputs": {"query": "founder of Arvenholm"},
        "outputs": {"documents": [{"page_content": FOUND, "metadata": {}, "type": "Document"}]},
        "end_time": "2",
    },
    {
        "id": "c",
        "parent_run_id": "r",
        "run_type": "llm",
        "inputs": {},
        "outputs": {"generations": [[{"text": "", "message": {"kwargs": {"content": SAID}}}]]},
        "end_time": "4",
        "extra": {"metadata": {"ls_model_name": "gpt-4o"}},
    },
]
EXPECTED = [("retrieval", "founder of Arvenholm", FOUND), ("synthesis", "", SAID)]


def nested():
    return {**RUNS[0], "child_runs": RUNS[1:]}


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.json", document(SPANS), "otlp"),
        ("a.jsonl", "\n".join(document([s]) for s in SPANS), "otlp"),
        ("b.json", json.dumps(RUNS), "langsmith"),
        ("b.jsonl", "\n".join(json.dumps(r) for r in RUNS), "langsmith"),
        ("c.json", json.dumps(nested()), "langsmith"),
        ("d.json", json.dumps({"runs": RUNS}), "langsmith"),
    ],
)
def test_text_formats(tmp_path, name, text, kind):
    file = tmp_path / name
    file.write_text(text)
    assert detected(file) == kind
    found = read(file)
    assert not found.problems
    (trajectory,) = found.trajectories
    assert shape(trajectory) == EXPECTED
    assert trajectory.question == ASKED
    assert trajectory.answer == SAID
    assert trajectory.backbone == "gpt-4o"


def test_a_log_that_inspect_wrote():
    found = read(FILES / "arvenholm.eval")
    assert not found.problems
    assert [t.id for t in found.trajectories] == ["inspect/q1/1", "inspect/q2/1"]
    assert shape(found.trajectories[0]) == EXPECTED
    assert found.trajectories[1].answer == "It was founded in 1800."
    assert found.trajectories[1].question == "When was Arvenholm founded?"
    assert found.trajectories[0].backbone == "mockllm/model"


def test_a_damaged_inspect_log_is_named(tmp_path):
    file = tmp_path / "x.eval"
    data = bytearray((FILES / "arvenholm.eval").read_bytes())
    with zipfile.ZipFile(FILES / "arvenholm.eval") as archive:
        at = archive.getinfo("samples/q1_epoch_1.json").header_offset
    for i in range(at + 120, at + 400):
        data[i] ^= 0xFF
    file.write_bytes(data)
    found = read(file)
    assert [t.id for t in found.trajectories] == ["inspect/q2/1"]
    assert found.problems[0].id == "samples/q1_epoch_1.json"
    file.write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(DataError, match="is no Inspect log"):
        read(file)


def test_deflated_members_and_attachments(tmp_path):
    file = tmp_path / "x.eval"
    sample = {
        "id": "s",
        "epoch": 2,
        "input": [{"role": "user", "content": ASKED}],
        "messages": [
            {"role": "tool", "content": "attachment://abc", "tool_call_id": "c"},
            {"role": "assistant", "content": [{"type": "text", "text": SAID}]},
            {"role": "wizard", "content": "?", "id": "m3"},
        ],
        "attachments": {"abc": FOUND},
    }
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/s.json", json.dumps(sample))
        archive.writestr("samples/t.json", "[1]")
        archive.writestr("../../evil", "x")
    found = read(file)
    assert shape(found.trajectories[0]) == [("retrieval", "", FOUND), ("synthesis", "", SAID)]
    assert [(p.id, p.what) for p in found.problems] == [
        ("m3", "field role: 'wizard' is unknown"),
        ("samples/t.json", "is no JSON object"),
    ]
    assert [p.name for p in tmp_path.iterdir()] == ["x.eval"]


def test_the_plain_example():
    found = read(EXAMPLE)
    assert not found.problems
    assert [t.task_id for t in found.trajectories] == ["clean", "poisoned", "sure"]
    assert [s.kind for s in found.trajectories[0].stages] == [
        "retrieval",
        "reasoning",
        "tool_call",
        "synthesis",
    ]
    assert found.trajectories[2].stages[2].confidence == 0.98
    assert found.trajectories[0].stages[0].hits[0].passage.title == "Arvenholm"


@pytest.mark.parametrize(
    ("line", "name", "what"),
    [
        ("{", "line 2", "is no JSON object"),
        ("[]", "line 2", "is no JSON object"),
        ('{"id": "a"}', "a", "field stages"),
        ('{"id": "a", "stages": [1]}', "a, stage 1", "is no object"),
        ('{"id": "a", "stages": [{"kind": "magic"}]}', "a, stage 1", "field kind"),
        ('{"id": "a", "stages": [{"kind": "reasoning", "text": 3}]}', "a, stage 1", "is no text"),
        ('{"id": "a", "stages": [{"kind": "synthesis", "confidence": 1.5}]}', "a, stage 1", "[0, 1]"),
        ('{"id": "a", "stages": [{"kind": "synthesis", "confidence": NaN}]}', "a, stage 1", "[0, 1]"),
        ('{"id": "a", "stages": [{"kind": "synthesis", "confidence": true}]}', "a, stage 1", "[0, 1]"),
        ('{"id": "a", "stages": [{"kind": "synthesis", "confidence": 0.5}]}', "a, stage 1", "logprobs"),
        ('{"id": "a", "stages": [{"kind": "synthesis", "text": "x"}]}', "a", "no retrieval"),
        ('{"id": "a", "stages": []}', "a", "no retrieval"),
        ("[" * 100_000, "line 2", "is no JSON object"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_read(tmp_path, line, name, what):
    file = tmp_path / "x.jsonl"
    good = EXAMPLE.read_text().splitlines()
    file.write_text("\n".join([good[0], line, good[1]]))
    found = read(file)
    assert [t.task_id for t in found.trajectories] == ["clean", "poisoned"]
    assert [p.id for p in found.problems] == [name]
    assert what in found.problems[0].what


def test_unknown_and_empty_spans_are_reported_by_id(tmp_path):
    file = tmp_path / "x.json"
    file.write_text(
        document(
            [
                *SPANS,
                span("db", 1, db__system="postgresql"),
                span("odd", 2, gen_ai__operation__name="dance"),
                span("mute", 3, gen_ai__operation__name="chat"),
                span("silent", 4, gen_ai__operation__name="execute_tool"),
                span("blind", 4, gen_ai__operation__name="retrieval"),
                {"name": "no id"},
                span("lonely", 1, trace="t2", gen_ai__operation__name="chat"),
            ]
        )
    )
    found = read(file)
    assert shape(found.trajectories[0]) == EXPECTED
    assert {p.id for p in found.problems} == {
        *("db", "odd", "mute", "silent", "blind", "span", "lonely", "t2"),
    }


def test_runs_that_failed_or_loop(tmp_path):
    file = tmp_path / "x.json"
    file.write_text(
        json.dumps(
            [
                *RUNS,
                {"id": "e", "parent_run_id": "r", "run_type": "llm", "error": "429", "end_time": "5"},
                {"id": "u", "parent_run_id": "r", "run_type": "dance", "outputs": {}, "end_time": "5"},
                {"id": "n", "parent_run_id": "r", "run_type": "llm", "outputs": None, "end_time": "5"},
                {"id": "x", "parent_run_id": "y", "run_type": "chain"},
                {"id": "y", "parent_run_id": "x", "run_type": "chain"},
                7,
            ]
        )
    )
    found = read(file)
    assert len(found.trajectories) == 1
    assert {"e", "u", "n", "run 9"} <= {p.id for p in found.problems}


def test_errors_name_the_remedy(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "none")
    with pytest.raises(DataError, match="no such file"):
        read("")
    with pytest.raises(ConfigError, match="choose one of"):
        read(EXAMPLE, "xml")
    (tmp_path / "bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="no UTF-8"):
        read(tmp_path / "bin")
    (tmp_path / "empty").write_text("")
    with pytest.raises(DataError, match="no trajectory in it"):
        read(tmp_path / "empty")


def test_what_stands_in_a_trace_is_only_text(tmp_path):
    evil = ["${oc.env:HOME}", "{0.__class__}", "/etc/passwd", "attachment:///etc/passwd", "!!python/object:x"]
    file = tmp_path / "x.jsonl"
    stages = [{"kind": "retrieval", "passages": evil}, *({"kind": "reasoning", "text": t} for t in evil)]
    file.write_text(json.dumps({"id": "../../x", "stages": stages}))
    (trajectory,) = read(file).trajectories
    assert [h.passage.text for h in trajectory.stages[0].hits] == evil
    assert [s.text for s in trajectory.stages[1:]] == evil
    shutil.rmtree(tmp_path)

"""What the viewer shows of a trajectory: the edit as a diff, the right verdict, nothing of other runs."""

from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st

from faultline.faults.retrieval import restore, swap
from faultline.records import Passage
from faultline.reporting import saved_run
from faultline.reporting.page import chunks, viewed
from tests.reporting.page import hostile

WORD = st.text("ab ", min_size=1, max_size=12)


@given(WORD, st.sampled_from(["a", "ab", "b a"]), st.sampled_from(["", "bb", "a a a"]))
def test_a_diff_reads_as_the_old_text_and_as_the_new_one(text, value, replacement):
    changed, edits = swap(Passage("p", "", (text,)), value, replacement)
    runs = viewed.pieces(changed.text, [(e.start, e.before, e.after) for e in edits])
    assert "".join(t for kind, t in runs if kind != "out") == changed.text
    assert "".join(t for kind, t in runs if kind != "in") == text == restore(changed, edits).text
    assert sum(kind == "out" for kind, _ in runs) == len(edits)


def test_a_near_copy_that_was_not_edited_shows_no_diff():
    assert viewed.pieces("In Paris.", [(3, "Paris", "Berlin")]) == [["same", "In Paris."]]


def test_views_of_a_run_without_signals(tmp_path):
    run = saved_run.read(hostile.build(tmp_path, 5))
    found = list(viewed.views(run))
    assert viewed.count(run) == len(found) == 5
    assert {v["caught"] for v in found} == {"clean", "not diagnosed"}
    assert found[1]["outcome"] == "wrong"
    assert found[1]["accepted"] == list(hostile.HOSTILE)
    assert [e["from"] for e in found[1]["envelopes"]] == [hostile.text(0), hostile.text(1)]
    assert found[0]["envelopes"] == []
    passage = found[1]["stages"][0]["hits"][0]
    assert passage["changed"]
    assert ["out", "Paris"] in passage["text"]


def test_a_chunk_is_one_call_whose_text_is_json(tmp_path):
    value = {"texts": list(hostile.HOSTILE), "__proto__": 1}
    body = chunks.script("n", 3, value).decode()
    assert "\u2028" not in body
    assert body.startswith('FL.add("n",3,"') and body.endswith('");\n')
    assert orjson.loads(orjson.loads(body.removeprefix('FL.add("n",3,').removesuffix(");\n"))) == value
    assert list(chunks.write(tmp_path, ({"id": i} for i in range(95)))) == [40, 40, 15]
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        *("index.js", "trajectories-0.js", "trajectories-1.js", "trajectories-2.js"),
    ]

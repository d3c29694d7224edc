import io
import json
import tarfile
from pathlib import Path

import pytest

from faultline.corpora.failure_logs import AGENTRX, WHO_AND_WHEN, agentrx_steps, who_and_when
from faultline.errors import DataError


def archive(path: Path, files: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as out:
        for name, content in files.items():
            raw = json.dumps(content).encode()
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            out.addfile(info, io.BytesIO(raw))


RECORD = {
    "question": "q",
    "question_ID": "t1",
    "ground_truth": "8",
    "history": [{"content": "a", "role": "human"}, {"content": "b", "role": "assistant", "name": "Coder"}],
    "mistake_agent": "Coder",
    "mistake_step": "1",
}


def test_a_log_reads_as_written(tmp_path):
    archive(tmp_path / WHO_AND_WHEN, {"Who&When/Hand-Crafted/3.json": RECORD})
    (log,) = who_and_when(tmp_path)
    assert (log.id, log.subset, log.step, log.answer) == ("t1", "hand_crafted", 1, "8")
    assert [(s.index, s.agent, s.text) for s in log.steps] == [(0, "human", "a"), (1, "Coder", "b")]


@pytest.mark.parametrize(
    ("change", "told"),
    [({"mistake_step": "7"}, "not among its 2 steps"), ({"mistake_step": "x"}, "missing or unreadable")],
)
def test_a_broken_log_names_its_file(tmp_path, change, told):
    archive(tmp_path / WHO_AND_WHEN, {"Who&When/Hand-Crafted/3.json": RECORD | change})
    with pytest.raises(DataError, match=rf"3\.json.*{told}"):
        who_and_when(tmp_path)


def test_no_archive_says_where_it_should_be(tmp_path):
    with pytest.raises(DataError, match="no such file; set FAULTLINE_DATA_DIR"):
        who_and_when(tmp_path)


def test_agentrx_counts_from_one_and_mixes_id_types(tmp_path):
    failures = [{"failure_id": 1, "step_number": 4}, {"failure_id": 2, "step_number": 9}]
    record = {"trajectory_id": "t1", "failures": failures, "root_cause": {"failure_id": "2"}}
    archive(tmp_path / AGENTRX, {"data/ground_truth/magentic_one_ground_truth.json": [record]})
    assert agentrx_steps(tmp_path) == {"t1": 8}


@pytest.mark.data
def test_the_real_archives(data_dir):
    logs = who_and_when(data_dir)
    assert (len(logs), sum(log.subset == "hand_crafted" for log in logs)) == (184, 58)
    spoke = sum(log.steps[log.step].agent == log.agent for log in logs)
    assert spoke >= 120  # hand-crafted logs name roles another way
    second = agentrx_steps(data_dir)
    assert len({log.id for log in logs if log.subset == "hand_crafted"} & set(second)) == 44

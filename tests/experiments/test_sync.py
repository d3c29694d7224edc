"""Uploads against a loopback server that speaks W&B's protocol: a moved run, online runs, what is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.sync import main
from faultline.wandb_log import logs
from tests.experiments.conftest import ROOT
from tests.wandb_wire import Uploads, collecting

KEY = "planted0123456789planted0123456789planted"
WRITE = """
import sys, pandas as pd
from pathlib import Path
from faultline.tracking import Logged, Tracking, mirror
table = pd.DataFrame({"text": ["x", "y", "z"], "n": [1, 2, 3]})
how = Tracking(sys.argv[2], "faultline", "sweep-1")
mirror(Path(sys.argv[1]), "demo", how, Logged({"seed": 0}, {"results": table}, {}))
"""


def write(folder: Path, mode: str, **extra: str) -> Path:
    folder.mkdir()
    kept = {k: v for k, v in os.environ.items() if not k.startswith("WANDB_")}
    command = [sys.executable, "-c", WRITE, str(folder), mode]
    subprocess.run(command, check=True, cwd=ROOT, timeout=120, env={**kept, **extra}, capture_output=True)
    return folder


def server(monkeypatch: pytest.MonkeyPatch, uploads: Uploads) -> None:
    monkeypatch.setenv("WANDB_BASE_URL", uploads.url)
    monkeypatch.setenv("WANDB_API_KEY", KEY)


def rows(uploads: Uploads) -> list[list[object]]:
    """Of the results table, as the artifact's file arrived."""
    [body] = [b for name, b in uploads.files.items() if name.endswith("-results/results.table.json")]
    content: list[list[object]] = json.loads(body)["data"]
    return content


def test_a_moved_run_uploads_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = write(tmp_path / "run", "offline").rename(tmp_path / "moved")
    with collecting() as uploads:
        server(monkeypatch, uploads)
        assert main([str(moved)]) == 0
    assert rows(uploads) == [["x", 1], ["y", 2], ["z", 3]]
    assert len(uploads.committed) == 2  # results, and the (empty) table of trajectories
    assert uploads.runs[0]["groupName"] == "sweep-1"
    assert KEY.encode() not in b"".join(uploads.everything)
    assert KEY not in "".join(capsys.readouterr())


def test_without_the_mended_paths_the_table_would_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why :func:`relocate` is there: W&B's own command says it finished, and its status is 0."""
    moved = write(tmp_path / "run", "offline").rename(tmp_path / "moved")
    with collecting() as uploads:
        server(monkeypatch, uploads)
        command = [sys.executable, "-m", "wandb", "sync", str(logs(moved)[0].parent)]
        assert subprocess.run(command, capture_output=True, timeout=120, check=False).returncode == 0
    assert uploads.committed == []


def test_online_is_one_override_and_logs_the_same(tmp_path: Path) -> None:
    with collecting() as uploads:
        folder = write(tmp_path / "run", "online", WANDB_BASE_URL=uploads.url, WANDB_API_KEY=KEY)
    assert rows(uploads) == [["x", 1], ["y", 2], ["z", 3]]
    assert not [p for p in folder.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]


def test_what_cannot_be_uploaded_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert main([str(tmp_path / "empty")]) == 2
    assert "holds no offline W&B run" in capsys.readouterr().err
    run = write(tmp_path / "run", "offline")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    assert main([str(run)]) == 2
    assert "needs WANDB_API_KEY" in capsys.readouterr().err
    copy = tmp_path / "copy"
    shutil.copytree(run, copy, symlinks=True)
    assert main([str(copy), "--relocate-only"]) == 0
    assert "2 paths mended" in capsys.readouterr().out
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    assert main([str(copy), "--timeout-s", "4"]) == 2
    told = capsys.readouterr().err
    assert "copy: " in told
    assert KEY not in told

"""Runs on disk and in archives, and every way in which they can be broken."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import orjson
import pytest

from faultline.errors import ConfigError, StoreError
from faultline.reporting import saved_run
from tests.reporting.page import hostile


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return hostile.build(tmp_path / "runs", 6)


def test_an_archive_opens_elsewhere_with_its_stores(home, tmp_path):
    run = saved_run.read(home)
    out = tmp_path / "else where" / "run.zip"
    packed = list(saved_run.pack(run, out))
    assert home / "results.parquet" in packed
    first = out.read_bytes()
    list(saved_run.pack(run, out))
    assert out.read_bytes() == first
    shutil.rmtree(tmp_path / "runs")
    (again,) = saved_run.opened(out, tmp_path / "scratch")
    assert again.name == run.name
    assert again.results.equals(run.results)
    assert [p.name for p in again.store_files()] == ["hostile.jsonl"]
    assert again.missing_stores() == []


def test_a_store_that_is_gone_is_told(home, tmp_path):
    shutil.rmtree(tmp_path / "runs" / "stores")
    with pytest.raises(StoreError, match=r"hostile.jsonl is not in .*; run the experiment again"):
        list(saved_run.pack(saved_run.read(home), tmp_path / "out.zip"))


@pytest.mark.parametrize("name", ["DONE", "results.parquet", "manifest.json", "config.yaml"])
def test_an_unfinished_run_is_refused(home, name):
    (home / name).unlink()
    with pytest.raises(StoreError, match=f"{name} is missing"):
        saved_run.read(home)


@pytest.mark.parametrize(
    ("name", "text"), [("manifest.json", "{"), ("config.yaml", "a: ["), ("timings.json", "")]
)
def test_a_broken_file_is_one_line(home, name, text):
    (home / name).write_text(text)
    with pytest.raises(StoreError, match="unreadable"):
        saved_run.read(home)


def test_what_is_no_run_says_what_to_give(home, tmp_path):
    with pytest.raises(ConfigError, match="no such run"):
        saved_run.opened(tmp_path / "nothing", tmp_path)
    with pytest.raises(ConfigError, match=f"did you mean {home}"):
        saved_run.opened(tmp_path / "runs", tmp_path)


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/evil.txt", "a/../../evil.txt"])
def test_an_archive_that_leaves_its_folder_is_refused(tmp_path, name):
    out = tmp_path / "evil.zip"
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(saved_run.ARCHIVE, orjson.dumps({"schema": 1, "run": "a/b"}))
        archive.writestr(name, b"x")
    with pytest.raises(StoreError, match="not safe to unpack"):
        saved_run.opened(out, tmp_path / "scratch")
    assert not (tmp_path / "scratch").exists()


def test_archives_of_others_and_archives_that_name_a_run_outside(tmp_path):
    out = tmp_path / "other.zip"
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("readme.txt", b"x")
    with pytest.raises(StoreError, match=r"not written by experiments\.export"):
        saved_run.opened(out, tmp_path / "scratch")
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(saved_run.ARCHIVE, orjson.dumps({"schema": 1, "run": "../../etc"}))
    with pytest.raises(StoreError, match="outside itself"):
        saved_run.opened(out, tmp_path / "scratch")


def test_a_sweep_stands_for_its_finished_jobs(home, tmp_path):
    jobs = tmp_path / "sweep" / "jobs"
    jobs.mkdir(parents=True)
    (jobs / "0.json").write_bytes(orjson.dumps({"path": str(home), "overrides": []}))
    (jobs / "1.json").write_bytes(orjson.dumps({"error": "x", "overrides": []}))
    assert [run.path for run in saved_run.opened(tmp_path / "sweep", tmp_path)] == [home]
    (jobs / "0.json").unlink()
    with pytest.raises(StoreError, match="no job of the sweep is finished"):
        saved_run.opened(tmp_path / "sweep", tmp_path)

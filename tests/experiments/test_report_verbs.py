"""Report and export as a user calls them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from experiments import export, report
from faultline.reporting.page import write
from tests.reporting.page import hostile


@pytest.fixture(autouse=True)
def without_data(monkeypatch):
    monkeypatch.delenv("FAULTLINE_DATA_DIR", raising=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return hostile.build(tmp_path / "runs", 45)


def test_a_run_travels_as_an_archive_and_gives_the_same_page(home, tmp_path, capsys):
    out = tmp_path / "run.zip"
    assert report.main([str(home), "--out", str(tmp_path / "here"), "--no-figures"]) == 0
    assert export.main([str(home), "--out", str(out)]) == 0
    assert capsys.readouterr().out.strip().endswith("run.zip")
    shutil.rmtree(tmp_path / "runs")
    assert report.main([str(out), "--out", str(tmp_path / "there"), "--no-figures"]) == 0
    names = sorted(p.relative_to(tmp_path / "here") for p in (tmp_path / "here").rglob("*") if p.is_file())
    assert len(names) > 60
    for name in names:
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


def test_the_page_says_what_it_leaves_out(home, tmp_path, capsys):
    assert report.main([str(home), "--out", str(tmp_path / "p"), "--no-figures", "--trajectories", "40"]) == 0
    text = (tmp_path / "p" / "index.html").read_text()
    assert "5 further trajectories are not on this page" in text
    assert "released data were not recomputed" in text
    assert "40 trajectories" in capsys.readouterr().err


def test_markup_in_a_run_is_escaped_in_the_html(home, tmp_path):
    assert report.main([str(home), "--out", str(tmp_path / "p"), "--no-figures"]) == 0
    text = (tmp_path / "p" / "index.html").read_text()
    assert "onerror=" in text  # the hostile text is there
    assert not any(bad in text for bad in ("<img src=x", "<svg/onload", "<style>", "<script>document"))
    assert text.count("<script") == text.count('<script src="assets/') == 5


def test_only_a_page_is_ever_replaced(home, tmp_path, capsys):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("x")
    assert report.main([str(home), "--out", str(mine)]) == 2
    assert "choose another folder" in capsys.readouterr().err
    assert (mine / "thesis.tex").read_text() == "x"
    page = tmp_path / "page"
    for _ in range(2):
        assert report.main([str(home), "--out", str(page), "--no-figures"]) == 0
    assert (page / write.MARK).is_file()


def test_wrong_runs_are_one_line(tmp_path, capsys):
    assert report.main([str(tmp_path / "none"), "--out", str(tmp_path / "p")]) == 2
    assert export.main([str(tmp_path / "none"), "--out", str(tmp_path / "x.zip")]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 2
    assert all(line.startswith("error: ") and "no such run" in line for line in lines)


def test_without_a_run_the_page_is_the_ledger(tmp_path):
    assert report.main(["--out", str(tmp_path / "p"), "--no-figures"]) == 0
    text = (tmp_path / "p" / "index.html").read_text()
    assert "1,045 published numbers" in text
    assert 'id="trajectories"' not in text


def test_the_page_names_no_scratch_folder(home, tmp_path):
    assert report.main([str(home), "--out", str(tmp_path / "p")]) == 0
    text = (tmp_path / "p" / "index.html").read_text()
    assert "fp: its figures were not drawn (the runs of this page: no finished run" in text
    assert "faultline-" not in text

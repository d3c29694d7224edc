"""The dispatcher finds figures by itself, and the same data give the same bytes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paper_figures import make

DATA = Path(os.environ.get("FAULTLINE_DATA_DIR", ""))


def test_every_module_of_the_folder_is_found_with_its_two_functions():
    import importlib

    known = make.groups()
    assert {"ths", "fp"} <= set(known)
    for name in known:
        module = importlib.import_module(f"paper_figures.{name}")
        assert callable(module.load) and callable(module.make)


def test_an_unknown_name_is_one_line(capsys):
    assert make.main(["tsh"]) == 2
    assert capsys.readouterr().err.startswith("error: tsh: no such figures; choose from")


def test_all_passes_over_what_has_no_data_and_says_so(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("FAULTLINE_DATA_DIR", raising=False)
    assert make.main(["all", "--runs-dir", str(tmp_path), "--out", str(tmp_path / "f")]) == 0
    told = capsys.readouterr().err
    assert "ths: not drawn (FAULTLINE_DATA_DIR is not set" in " ".join(told.split())
    assert "fp: not drawn" in told


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "ths_release").is_dir(), reason="FAULTLINE_DATA_DIR holds no ths_release")
def test_the_same_data_give_the_same_bytes_in_every_format(tmp_path):
    made = []
    for place in ("one", "two"):
        out = ["--out", str(tmp_path / place), "--runs-dir", str(tmp_path)]
        assert make.main(["ths", *out, "--only", "figure6", "--formats", *make.FORMATS]) == 0
        made.append({p.name: p.read_bytes() for p in (tmp_path / place).iterdir()})
    assert sorted(made[0]) == ["figure6.pdf", "figure6.png", "figure6.svg"]
    assert made[0] == made[1]

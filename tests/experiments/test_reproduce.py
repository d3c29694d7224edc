"""Reproduction of a paper: which experiments, in which order, with which options, and what it ends with."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import catalogue, reproduce
from faultline.errors import ConfigError


@pytest.mark.parametrize("paper", reproduce.PAPERS)
def test_a_paper_runs_its_own_experiments_in_order(paper):
    found = reproduce.experiments_of(paper)
    assert found
    assert all(entry.name.startswith(f"{paper}_") for entry in found)
    assert [e.order for e in found] == sorted(e.order for e in found)
    assert "charm_demo" not in [e.name for e in found]


def test_recomputed_data_come_first():
    assert reproduce.experiments_of("fp")[0].name == "fp_released"
    with pytest.raises(ConfigError, match=r"choose from .*fp_released"):
        reproduce.experiments_of("fp", ["ths_released"])


def test_an_option_goes_to_those_that_understand_it():
    (released,) = reproduce.experiments_of("ths", ["ths_released"])
    (hotpot,) = reproduce.experiments_of("charm", ["charm_hotpot"])
    given = ["limit=5", "preset=paper", "runs_dir=x"]
    assert reproduce.overrides(released, "ths", given) == [
        "+exp=ths_released",
        "+preset=ths_paper",
        "runs_dir=x",
    ]
    assert reproduce.overrides(hotpot, "charm", given) == [
        *("+exp=charm_hotpot", "limit=5", "+preset=paper", "runs_dir=x"),
    ]


@pytest.mark.parametrize(("told", "place"), [("no", None), ("", catalogue.USUAL_PLACE), ("7", 7)])
def test_a_file_says_its_place(told, place):
    assert catalogue._place(Path("x.yaml"), told) == place


def test_a_wrong_place_is_one_line():
    with pytest.raises(ConfigError, match="give a whole number, or no"):
        catalogue._place(Path("x.yaml"), "first")


def test_without_data_the_estimate_says_why(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("FAULTLINE_DATA_DIR", raising=False)
    arguments = ["charm", f"runs_dir={tmp_path}", "--estimate", "--only", "charm_hotpot"]
    assert reproduce.main(arguments) == 2
    assert "cannot run: " in capsys.readouterr().out


@pytest.mark.data
def test_paper_three_from_the_released_data_to_its_ledger(data_dir, capsys, tmp_path):
    arguments = ["ths", f"runs_dir={tmp_path}", "tracking=off", "limit=3", "--only", "ths_released"]
    assert reproduce.main(arguments) == 0
    told = capsys.readouterr().out
    order = [told.index(part) for part in ("generate, score, pay: nothing", "Table 7:", "nothing unexpected")]
    assert order == sorted(order)
    assert "0.480 / 0.4800" in told  # Table 3, FrontEndAgent, FCD

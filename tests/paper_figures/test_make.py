import os
from pathlib import Path

import pytest

from faultline import results
from paper_figures import make, ths

DATA = Path(os.environ.get("FAULTLINE_DATA_DIR", ""))
needs_data = pytest.mark.skipif(
    not (DATA / "ths_release").is_dir(), reason="FAULTLINE_DATA_DIR holds no ths_release"
)


def test_without_data_one_line(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("FAULTLINE_DATA_DIR", raising=False)
    assert make.main(["ths", "--runs-dir", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: FAULTLINE_DATA_DIR is not set")


@pytest.mark.data
@needs_data
def test_one_figure_from_the_released_data(capsys, tmp_path):
    assert (
        make.main(["ths", "--runs-dir", str(tmp_path), "--out", str(tmp_path / "f"), "--only", "figure9"])
        == 0
    )
    assert sorted(p.name for p in (tmp_path / "f").iterdir()) == ["figure9.pdf", "figure9.png"]
    assert make.main(["ths", "--out", str(tmp_path), "--only", "figure5"]) == 2
    assert "choose from figure6" in capsys.readouterr().err


@pytest.mark.data
@needs_data
def test_a_run_is_preferred_and_wrong_captions_are_told(tmp_path):
    source, wrong = ths.load(tmp_path)
    assert wrong == []
    home = tmp_path / "ths_released" / "key"
    home.mkdir(parents=True)
    changed = source.results.copy()
    front = changed["metric"].eq("kpi_mean") & changed["condition"].eq("stage=front;subset=all")
    changed.loc[front & changed["system"].eq("FCD"), "value"] = 0.9
    results.write(changed, home / "results.parquet")
    source.prompts.to_parquet(home / "ths_per_prompt.parquet")
    (home / "DONE").touch()
    _, wrong = ths.load(tmp_path)
    assert len(wrong) == 1
    assert "table3.front.FCD" in wrong[0]

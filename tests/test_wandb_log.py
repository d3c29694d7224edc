"""W&B's own log: read, written byte for byte as W&B does, and mended after a move."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from faultline import wandb_log
from faultline.errors import StoreError
from faultline.wandb_log import logs, records, relocate

ROOT = Path(__file__).resolve().parents[1]
WRITE = """
import sys, pandas as pd
from pathlib import Path
from faultline.tracking import Logged, Tracking, mirror
table = pd.DataFrame({"text": ["x" * 70_000, "y"], "n": [1, 2]})
what = Logged({"long": "z" * 100_000}, {"results": table, "more": table}, {})
mirror(Path(sys.argv[1]), "demo", Tracking(), what)
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory that W&B wrote in a process of its own, with records longer than a block."""
    folder = tmp_path_factory.mktemp("first") / "run"
    folder.mkdir()
    subprocess.run([sys.executable, "-c", WRITE, str(folder)], check=True, cwd=ROOT, timeout=120)
    return folder


def staged(run_dir: Path) -> dict[str, str]:
    """Path of each staged table by its artifact's name."""
    found = records(logs(run_dir)[0])
    artifacts = [r.artifact for r in found if r.WhichOneof("record_type") == "artifact"]
    return {a.name: a.manifest.contents[0].local_path for a in artifacts}


def test_a_log_is_written_back_as_wandb_wrote_it(original: Path) -> None:
    [path] = logs(original)
    data = path.read_bytes()
    assert len(data) > wandb_log.BLOCK
    assert b"".join(wandb_log._written(wandb_log._payloads(path))) == data


def test_a_moved_run_finds_its_tables_again(original: Path, tmp_path: Path) -> None:
    copied, moved = tmp_path / "copied", tmp_path / "elsewhere" / "moved"
    shutil.copytree(original, copied, symlinks=True)
    moved.parent.mkdir()
    copied.rename(moved)
    assert not any(Path(p).is_relative_to(moved) for p in staged(moved).values())
    assert relocate(moved) == 3
    places = staged(moved)
    assert len(places) == 3
    for name, place in places.items():
        assert Path(place).is_relative_to(moved)
        rows = json.loads(Path(place).read_text())["data"]
        assert len(rows) == (0 if name.endswith("trajectories") else 2)
    before, after = records(logs(original)[0]), records(logs(moved)[0])
    kept = [r for r in before if r.WhichOneof("record_type") != "artifact"]
    assert kept == [r for r in after if r.WhichOneof("record_type") != "artifact"]
    assert relocate(moved) == 0


def test_a_run_that_did_not_move_is_left_byte_for_byte(original: Path) -> None:
    before = logs(original)[0].read_bytes()
    assert relocate(original) == 0
    assert logs(original)[0].read_bytes() == before


def test_a_table_that_was_left_behind_is_named(original: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(original, moved, symlinks=True)
    shutil.rmtree(moved / wandb_log.STAGING)
    with pytest.raises(StoreError, match=r"table .*\.table\.json is not in .*move the whole run directory"):
        relocate(moved)


@pytest.mark.parametrize("damage", ["flipped", "cut", "other"])
def test_damage_is_one_line(original: Path, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "run-x.wandb"
    data = bytearray(logs(original)[0].read_bytes())
    if damage == "flipped":
        data[5000] ^= 1
    path.write_bytes(b"hello" if damage == "other" else data[:-3] if damage == "cut" else data)
    with pytest.raises(StoreError, match=r"run-x\.wandb"):
        records(path)


def test_the_reader_agrees_with_the_table_that_went_in(original: Path) -> None:
    place = next(p for name, p in staged(original).items() if name.endswith("results"))
    content = json.loads(Path(place).read_text())
    assert pd.DataFrame(content["data"], columns=content["columns"])["n"].tolist() == [1, 2]

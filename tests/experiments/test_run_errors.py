"""Bad input: one line that names the remedy, a non-zero exit, nothing lost. And what must stay fast."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiments.conftest import ROOT, Run, environment


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """The only line of error output."""
    assert done.returncode not in (0, 1), (done.stdout, done.stderr)
    lines = [line for line in done.stderr.splitlines() if line.strip() and not line.endswith(" tokens")]
    errors = [line for line in lines if line.startswith("error: ")]
    assert len(errors) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return errors[0]


def test_a_missing_data_set_names_the_remedies(run: Run, tmp_path: Path) -> None:
    told = one_line(run("+exp=charm_hotpot", f"runs_dir={tmp_path}", FAULTLINE_DATA_DIR=""))
    assert "FAULTLINE_DATA_DIR" in told
    assert "corpora=synthetic" in told


def test_a_data_folder_that_is_not_there(run: Run, tmp_path: Path) -> None:
    told = one_line(run("+exp=charm_hotpot", f"runs_dir={tmp_path}", FAULTLINE_DATA_DIR="/nowhere"))
    assert "/nowhere" in told


@pytest.mark.parametrize(
    ("argument", "named"),
    [
        ("nosuch=1", "nosuch"),
        ("corpora=nosuch", "nosuch"),
        ("charm.trigger.thetta=1", "thetta"),
        ("overwrite=sometimes", "never, missing, always"),
        ("limit=0", "limit=0"),
        ("policy.trust=2", "trust"),
        ("charm.sfv.anchor=middle", "consensus"),
        ("faults.scope=everywhere", "call or corpus"),
        ("tracking.mode=maybe", "offline"),
        ("+exp2=a", "exp2"),
    ],
)
def test_an_option_that_is_wrong_is_named(run: Run, tmp_path: Path, argument: str, named: str) -> None:
    told = one_line(run("+exp=charm_demo", "limit=4", "resamples=100", f"runs_dir={tmp_path}", argument))
    assert named in told


def test_an_unknown_experiment_lists_the_known_ones(run: Run, tmp_path: Path) -> None:
    told = one_line(run("+exp=nosuch", f"runs_dir={tmp_path}"))
    assert "nosuch" in told


def test_no_experiment_lists_the_known_ones(run: Run, tmp_path: Path) -> None:
    assert "charm_demo" in one_line(run(f"runs_dir={tmp_path}"))


def test_a_broken_record_is_named_with_its_field(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    good = {"question": "Who?", "answers": ["A"], "passages": [{"title": "T", "text": "A."}]}
    path.write_text(json.dumps(good) + "\n" + json.dumps({**good, "passages": [{"title": "T"}]}) + "\n")
    told = one_line(run("+exp=charm_demo", "corpora=jsonl", f"corpora.path={path}", "~corpora.questions"))
    assert "line 2" in told
    assert "'text'" in told


def test_a_model_that_is_not_installed(run: Run, tmp_path: Path) -> None:
    told = one_line(
        run("+exp=charm_demo", "nli=deberta_v3_base", f"runs_dir={tmp_path}", HF_HOME=str(tmp_path / "hub"))
    )
    assert "FAULTLINE_MODELS_DIR" in told


def test_online_tracking_without_a_key_stops_before_the_work(run: Run, tmp_path: Path) -> None:
    told = one_line(run("+exp=charm_demo", f"runs_dir={tmp_path}", "tracking=online", WANDB_API_KEY=""))
    assert "WANDB_API_KEY" in told
    assert not list(tmp_path.rglob("*.jsonl"))


def test_a_full_disk_loses_nothing(run: Run, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(small)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system needs privileges")
    try:
        told = one_line(run("+exp=charm_demo", "limit=14", f"runs_dir={small}", "tracking=off"))
        assert "disk is full" in told
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_dry_run_says_what_would_be_done_and_does_nothing(run: Run, tmp_path: Path) -> None:
    done = run("+exp=charm_demo", "dry_run=true", f"runs_dir={tmp_path}")
    assert done.returncode == 0
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["generate", "score", "pay"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("argument", ["--help", "--list"])
def test_help_and_list_import_no_torch(argument: str) -> None:
    code = (
        "import sys; from experiments.run import main; main([sys.argv[1]]); "
        "heavy = {'torch', 'lightning', 'wandb', 'transformers', 'hydra'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, argument], cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "charm_hotpot" in done.stdout


def test_composed_configuration_can_be_shown(run: Run) -> None:
    done = run("+exp=charm_demo", "--cfg", "job")
    assert done.returncode == 0
    assert "experiment: charm_eval" in done.stdout

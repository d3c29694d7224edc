"""Run directories: states, what repeats a run, and what its key depends on."""

import json
import subprocess
from pathlib import Path

import pytest

from faultline.errors import ConfigError, DataError, StoreError
from faultline.run_dir import OVERWRITE, PACKAGES, RunDir, provenance

INPUTS = {"config": {"seed": 0, "limit": None}, "corpus": "abc"}


@pytest.fixture
def run(tmp_path):
    return RunDir(tmp_path, "demo", INPUTS)


def finish(run):
    with run.working("a: 1\n", {"key": run.key}):
        (run.path / "results.parquet").write_bytes(b"")


def test_the_path_is_experiment_and_key(run, tmp_path):
    assert run.path == tmp_path / "demo" / run.key
    assert run.stores == tmp_path / "stores"
    assert len(run.key) == 16 and int(run.key, 16) >= 0


@pytest.mark.parametrize(
    "other",
    [
        {**INPUTS, "corpus": "abd"},
        {**INPUTS, "config": {"seed": 1, "limit": None}},
        {**INPUTS, "config": {"seed": 0, "limit": 10}},
        {**INPUTS, "nli": "x"},
    ],
)
def test_the_key_changes_with_every_input(run, tmp_path, other):
    assert RunDir(tmp_path, "demo", other).key != run.key


def test_the_key_knows_no_order_no_place_and_no_disk(run, tmp_path):
    turned = {"corpus": "abc", "config": {"limit": None, "seed": 0}}
    assert RunDir(tmp_path / "elsewhere", "demo", turned).key == run.key
    finish(run)
    assert RunDir(tmp_path, "demo", INPUTS).key == run.key
    assert RunDir(tmp_path, "other", INPUTS).key != run.key


def test_a_fresh_run_has_work_under_every_word(run):
    assert not run.is_finished()
    assert all(run.must_run(word) for word in OVERWRITE)


@pytest.mark.parametrize(("word", "work"), [("never", False), ("missing", False), ("always", True)])
def test_a_finished_run(run, word, work):
    finish(run)
    assert run.is_finished(("results.parquet",))
    assert run.must_run(word, ("results.parquet",)) is work


@pytest.mark.parametrize(("word", "work"), [("never", False), ("missing", True), ("always", True)])
def test_a_finished_run_that_lost_a_file(run, word, work):
    finish(run)
    (run.path / "results.parquet").unlink()
    assert run.must_run(word, ("results.parquet",)) is work


def test_another_word_is_refused(run):
    with pytest.raises(ConfigError, match="overwrite=sometimes: choose one of never, missing, always"):
        run.must_run("sometimes")


def test_a_finished_run_holds_config_manifest_and_done(run):
    finish(run)
    assert (run.path / "config.yaml").read_text() == "a: 1\n"
    assert json.loads((run.path / "manifest.json").read_bytes()) == {"key": run.key}
    assert (run.path / "DONE").exists() and not (run.path / "FAILED").exists()


@pytest.mark.parametrize("error", [DataError("file x: broken"), KeyboardInterrupt(), ZeroDivisionError()])
def test_a_failed_run_says_why_and_is_resumed(run, error):
    with pytest.raises(type(error)), run.working("", {}):
        raise error
    told = (run.path / "FAILED").read_text()
    assert told.startswith("Traceback") and type(error).__name__ in told and str(error) in told
    assert not run.is_finished()
    assert all(run.must_run(word) for word in OVERWRITE)
    finish(run)
    assert run.is_finished() and not (run.path / "FAILED").exists()


def test_a_repeat_is_not_done_while_it_works(run):
    finish(run)
    with run.working("", {}):
        assert not run.is_finished()
    assert run.is_finished()


def test_a_killed_run_is_unfinished(run):
    run.path.mkdir(parents=True)
    (run.path / "config.yaml").write_text("")
    assert run.must_run("never")


def test_the_first_error_is_seen_where_nothing_can_be_written(run, monkeypatch):
    def full(path, data):
        raise StoreError("full")

    def work():
        with run.working("", {}):
            monkeypatch.setattr("faultline.run_dir.write_file", full)
            raise DataError("the first")

    with pytest.raises(DataError, match="the first"):
        work()


def test_the_manifest_is_sorted_and_replaced(run):
    finish(run)
    run.write_manifest({"b": 1, "a": {"d": None, "c": [1]}})
    body = (run.path / "manifest.json").read_text()
    assert json.loads(body) == {"a": {"c": [1], "d": None}, "b": 1}
    assert body == json.dumps(json.loads(body), indent=2, sort_keys=True)


def test_the_lock_is_free_afterwards(run):
    with run.locked():
        assert (run.path / ".lock").exists()
    with run.locked():
        pass


def test_provenance_tells_revision_packages_and_machine(tmp_path):
    def git(*arguments):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", "-C", tmp_path, *identity, *arguments], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-qm", "one", "--no-verify")
    clean = provenance(tmp_path)
    assert len(clean["git"]["revision"]) == 40 and clean["git"]["dirty_sha256"] is None
    (tmp_path / "a").write_text("2")
    dirty = provenance(tmp_path)
    assert dirty["git"]["revision"] == clean["git"]["revision"] and dirty["git"]["dirty_sha256"]
    assert set(clean["packages"]) == set(PACKAGES) and clean["packages"]["numpy"]
    assert clean["host"]["processor"] and clean["python"].startswith("3.")


def test_provenance_outside_a_git_tree_is_null(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert provenance(Path(tmp_path))["git"] == {"revision": None, "dirty_sha256": None}

"""What an experiment gets: progress, and the data folder or what to set."""

import pytest

from faultline.errors import DataError
from faultline.reporting.console import Terminal
from faultline.reporting.run_context import Outcome, RunContext, required_data_dir


@pytest.fixture
def context(tmp_path):
    return RunContext(tmp_path / "run", tmp_path / "stores", "demo", Terminal(quiet=True))


def test_the_data_folder_is_the_variables(context, tmp_path, monkeypatch):
    monkeypatch.setenv("FAULTLINE_DATA_DIR", str(tmp_path))
    assert context.data_dir() == tmp_path


def test_without_it_the_error_says_what_to_set(monkeypatch):
    monkeypatch.delenv("FAULTLINE_DATA_DIR", raising=False)
    with pytest.raises(DataError, match="FAULTLINE_DATA_DIR is not set; set it to the folder"):
        required_data_dir()


def test_progress_and_tokens_can_be_called(context, capsys):
    with context.progress("x", 2) as advance, context.tokens("NLI") as update:
        advance(2)
        update(10, 10)
    assert capsys.readouterr().out == ""


def test_an_outcome_needs_rows_only():
    outcome = Outcome(rows=[])
    assert dict(outcome.tables) == {} and outcome.files == [] and outcome.summary is None

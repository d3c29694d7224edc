"""The console: tables whole, notes and one-line errors on stderr, bars only for a person."""

import pandas as pd
import pytest

from faultline.reporting import console
from faultline.reporting.console import Terminal


@pytest.fixture
def terminal(capsys):
    return Terminal(quiet=True)


def test_lines_and_notes_go_where_they_belong(terminal, capsys):
    terminal.print("a [bold]line[/bold] of x[0]")
    terminal.note("a [note]")
    out, err = capsys.readouterr()
    assert out == "a [bold]line[/bold] of x[0]\n" and err == "a [note]\n"


@pytest.mark.parametrize("text", ["one", "two\nlines  and   blanks\t", "x" * 500])
def test_an_error_is_one_line(terminal, capsys, text):
    terminal.error(text)
    out, err = capsys.readouterr()
    assert out == "" and err == f"error: {' '.join(text.split())}\n"


def test_a_long_line_is_not_wrapped(terminal, capsys):
    path = "/runs/" + "deep/" * 80
    terminal.print(path)
    assert capsys.readouterr().out == path + "\n"


def test_a_table_shows_every_row_and_value_whole(terminal, capsys):
    table = pd.DataFrame(
        {
            "system": ["charm", "[never]"],
            "n": [208, 3],
            "CDR strict": ["12.3 [4.5, 67.8]", "-"],
            "note": ["y" * 60, ""],
        }
    )
    terminal.table("Detection [x]", table)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Detection [x]"
    shown = [line for line in lines if "charm" in line or "[never]" in line]
    assert len(shown) == 2 and "12.3 [4.5, 67.8]" in shown[0] and "y" * 60 in shown[0] and "208" in shown[0]
    header = next(line for line in lines if "system" in line)
    assert header.index("n") < shown[0].index("208") + 3
    assert shown[0].index("208") + 3 == shown[1].index(" 3") + 2, "numbers stand on the right"


def test_an_empty_table_is_a_header(terminal, capsys):
    terminal.table("T", pd.DataFrame({"a": []}))
    assert "a" in capsys.readouterr().out


def test_progress_adds_up_and_is_silent_without_a_terminal(terminal, capsys):
    with terminal.progress("trajectories", 3) as advance:
        for _ in range(3):
            advance(1)
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_a_line_comes_every_ten_seconds(terminal, capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    with terminal.growing("NLI tokens") as update:
        for done in (1, 2, 3, 4):
            now[0] += 6.0
            update(done * 1000, 4000)
    assert capsys.readouterr().err.splitlines() == [
        "NLI tokens: 2,000 of 4,000",
        "NLI tokens: 4,000 of 4,000",
    ]


def test_with_a_terminal_there_is_a_bar(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    assert terminal.err.is_terminal
    with terminal.progress("trajectories", 4) as advance:
        advance(1)
        advance(3)
    assert "trajectories" in capsys.readouterr().err


def test_a_bar_ends_also_after_an_error(terminal):
    def work():
        with terminal.progress("x", 2) as advance:
            advance(1)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        work()

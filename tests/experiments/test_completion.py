"""Completion in a real shell."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from experiments import completion

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="no bash on this machine")


def completed(line: str) -> list[str]:
    """What bash would offer at the end of a line."""
    program = f"""{completion.script()}
COMP_LINE={line!r}; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=($COMP_LINE); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1))
COMP_WORDBREAKS=' '; _faultline; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run([str(BASH), "-c", program], capture_output=True, text=True, timeout=20)
    assert done.stderr == ""
    return done.stdout.split()


def test_verbs_options_experiments_and_files():
    assert "experiments.report" in completed("python -m experiments.re")
    assert completed("python -m experiments.run +exp=charm_h") == ["+exp=charm_hotpot"]
    assert completed("python -m experiments.run +exp=charm_hotpot retrieval=d")[:1] == ["retrieval=dense"]
    assert completed("python -m experiments.report runs/x --no-f") == ["--no-figures"]
    assert set(completed("python -m experiments.reproduce ")) >= {"charm", "fp", "ths", "--estimate"}


def test_every_verb_is_known():
    assert {"run", "report", "reproduce", "compare", "export", "verify", "fetch"} <= set(completion.verbs())

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import verify

DATA = os.environ.get("FAULTLINE_DATA_DIR", "")
needs_data = [
    pytest.mark.data,
    pytest.mark.skipif(
        not Path(DATA, "ths_release").is_dir(), reason="FAULTLINE_DATA_DIR holds no ths_release"
    ),
]


def told(capsys, *arguments):
    status = verify.main([*arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_help_imports_nothing_heavy():
    code = "import sys, experiments.verify as v\ntry: v.main(['--help'])\nexcept SystemExit: pass\n"
    code += "print([m for m in ('torch', 'lightning', 'pandas', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_paper_one_needs_no_data_and_holds_no_surprise(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("FAULTLINE_DATA_DIR", raising=False)
    status, ledger = told(capsys, "--paper", "charm", "--runs-dir", str(tmp_path))
    assert status == 0
    assert ledger["unexpected"] == []
    assert ledger["by_status"]["not_run"] == ledger["by_kind"]["rerun"]
    findings = {c["id"].split(".")[0] for c in ledger["claims"] if c["id"].startswith("finding")}
    assert findings == {f"finding{i}" for i in range(1, 16)} - {"finding2"}
    assert {c["id"]: c["status"] for c in ledger["claims"]}["data.clean"] == "inconsistent"


def test_released_numbers_without_data_stop_with_one_line(capsys, monkeypatch):
    monkeypatch.delenv("FAULTLINE_DATA_DIR", raising=False)
    assert verify.main(["--paper", "ths"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: FAULTLINE_DATA_DIR is not set")


def test_no_such_claim_and_no_such_status(capsys):
    assert verify.main(["--id", "nothing.*"]) == 2
    assert "no claim" in capsys.readouterr().err
    assert verify.main(["--paper", "charm", "--status", "fine"]) == 2


def test_something_unexpected_is_status_one(capsys, monkeypatch, tmp_path):
    (tmp_path / "charm.yaml").write_text(
        "claims:\n- {id: a, where: T, text: x, printed: '1', kind: not_available, expected: not_available}\n"
        "- {id: b, where: T, text: y, printed: '2', kind: consistency, expected: reproduced,"
        " evidence: {function: same, arguments: {first: '@a', second: '@b'}}}\n"
    )
    monkeypatch.setattr(verify, "CLAIMS", tmp_path)
    assert verify.main(["--paper", "charm"]) == 1
    assert "unexpected: charm inconsistent b" in " ".join(capsys.readouterr().out.split())
    assert verify.main(["--paper", "charm", "--id", "a"]) == 0


class TestReleased:
    pytestmark = needs_data

    def test_everything_is_as_expected(self, capsys, tmp_path):
        status, ledger = told(capsys, "--runs-dir", str(tmp_path))
        assert (status, ledger["unexpected"]) == (0, [])
        assert set(ledger) == {"claims", "by_kind", "by_status", "by_paper", "unexpected"}
        assert set(ledger["by_paper"]) == {"charm", "fp", "ths"}

    def test_the_known_last_digit_failures_and_no_others(self, capsys):
        _, ledger = told(capsys, "--paper", "ths")
        differing = {
            c["id"] for c in ledger["claims"] if c["status"] == "differs" and c["kind"] == "recompute"
        }
        assert differing == {
            "table9.g-spec.ECS",
            "s8.2.stress.q-spec",
            "table7.ExtremeObservability.second",
            "appB.ExtremeObservability.second",
            "table7.ExtremeObservability.total",
            "s6.4.extreme.total",
            "appB.ExtremeObservability.total",
        }

    def test_one_table(self, capsys):
        status, ledger = told(capsys, "--paper", "ths", "--id", "table7.*")
        assert status == 0
        assert len(ledger["claims"]) == 20

    def test_one_line_a_claim(self, capsys):
        verify.main(["--paper", "fp", "--id", "table3.*"])
        lines = capsys.readouterr().out.splitlines()
        assert sum(line.startswith("fp ") for line in lines) == 18
        assert lines[-1] == "nothing unexpected"

"""The experiment against a direct reading of the released JSON."""

import json
import os
from pathlib import Path

import pytest

from experiments import fp_released
from experiments.composition import compose
from faultline.attribution.release import CONDITIONS, DIAGNOSERS
from faultline.reporting.console import Terminal
from faultline.reporting.run_context import RunContext
from faultline.results import frame

DATA = Path(os.environ.get("FAULTLINE_DATA_DIR", ""))
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not (DATA / "fp_release").is_dir(), reason="FAULTLINE_DATA_DIR holds no fp_release"),
]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    context = RunContext(folder, folder, "fp_released", Terminal(quiet=True))
    return fp_released.run(compose(["+exp=fp_released"]), context)


@pytest.fixture(scope="module")
def rows(outcome):
    return frame(outcome.rows).set_index(["table", "metric", "system", "dataset", "condition"])["value"]


def test_accuracy_agrees_with_the_accuracy_that_the_files_state(rows):
    for (backbone, dataset), name in CONDITIONS.items():
        stated = json.loads((DATA / "fp_release" / name).read_text())
        for released, system in DIAGNOSERS.items():
            for depth in (1, 2, 3):
                if stated["n_failed_by_depth"][str(depth)]:
                    at = ("conditions", "exact_hop", system, dataset, f"agent={backbone};depth={depth}")
                    assert rows[at] == pytest.approx(stated["accuracy"][released][str(depth)])


def test_recovery_agrees_with_the_recovery_that_the_files_state(rows):
    for (backbone, dataset), name in CONDITIONS.items():
        stated = json.loads((DATA / "fp_release" / name).read_text())["recovery_rate_by_depth"]
        for depth, value in stated.items():
            at = ("table4", "recovery", "all", dataset, f"agent={backbone};depth={depth}")
            assert rows[at] == pytest.approx(value)


def test_the_gate_is_a_constant(rows):
    assert rows["controls", "answers_hop", "jaccard_gate", "all", "hop=1"] == 65
    for depth in (1, 2, 3):
        gate = rows["table3", "exact_hop", "jaccard_gate", "all", f"depth={depth}"]
        assert gate == rows["controls", "exact_hop", "constant_hop_1", "all", f"depth={depth}"]


def test_diagnosers_that_read_the_gold_answer_say_so(outcome):
    table = frame(outcome.rows)
    scored = table[table["metric"].eq("exact_hop")]
    gold = scored.groupby("system")["needs_gold"].all()
    assert all(gold[list(DIAGNOSERS.values())])
    assert not gold["constant_hop_1"]


def test_summary(outcome):
    (shown,) = fp_released.summary(frame(outcome.rows)).values()
    assert "depth=1 (n=44)" in shown.columns
    assert "constant_hop_1" in set(shown["system"])

"""Tables in a paper's layout: every number stands where the print has it, in three formats."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from experiments.verify import CLAIMS
from faultline.errors import ConfigError
from faultline.reporting import ledger, paper_tables
from faultline.reporting.ledger_check import Outcome

LAYOUTS = CLAIMS.parent / "layouts"


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    """Every claim, not run; one of them re-run with an interval."""
    made = [Outcome(claim, "not_run", None, "") for claim in ledger.load(CLAIMS)]
    at = next(i for i, o in enumerate(made) if o.claim.id == "tableVI.charm.cdr")
    made[at] = Outcome(made[at].claim, "differs", 0.296, "run", "reader", 0.237, 0.363, 59, 199)
    return made


def tables(paper: str, outcomes: list[Outcome]) -> dict[str, paper_tables.PaperTable]:
    return {t.name: t for t in paper_tables.load(LAYOUTS, paper, outcomes)[1]}


@pytest.mark.parametrize("paper", ledger.PAPERS)
def test_every_printed_number_of_a_laid_out_table_is_in_it(paper, outcomes):
    for name, table in tables(paper, outcomes).items():
        own = [o.claim for o in outcomes if o.claim.paper == paper and o.claim.id.startswith(f"{name}.")]
        shown = "\n".join([*(c.published for c in table.cells.values()), *table.notes])
        assert {c.printed for c in own if c.printed and c.printed not in shown} == set()


def test_table_six_as_printed(outcomes):
    table = tables("charm", outcomes)["tableVI"]
    cell = table.cells["CHARM", "CDR"]
    assert (cell.published, cell.ours, cell.interval) == ("89.4% ± 1.8%", "29.6%", "[23.7%, 36.3%]")
    assert (cell.backbone, cell.n, cell.status) == ("reader", "59 of 199", "differs")
    assert ("SelfCheckGPT", "MSR") not in table.cells  # the paper prints a dash
    assert table.cells["RAGAS", "CDR"].ours == ""


def test_an_interval_that_the_paper_prints_is_beside_its_number(outcomes):
    table = tables("fp", outcomes)["table2"]
    assert table.cells["coverage gate", "depth 1"].published == "0.91 [0.81, 0.98]"


def test_markdown_is_a_table_and_escapes_its_own_sign(outcomes):
    text = paper_tables.as_markdown(tables("charm", outcomes)["tableVI"])
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    assert "89.4% ± 1.8% / 29.6% [23.7%, 36.3%] (reader)" in text
    assert paper_tables._pipe(["a|b"]) == "| a\\|b |"


def test_csv_reads_back(outcomes):
    table = tables("charm", outcomes)["tableVI"]
    rows = list(csv.DictReader(io.StringIO(paper_tables.as_csv(table))))
    assert len(rows) == len(table.cells)
    found = next(r for r in rows if (r["row"], r["column"]) == ("CHARM", "CDR"))
    assert found["n"] == "59 of 199"
    assert paper_tables._inert("=cmd()") == "'=cmd()"
    assert paper_tables._inert("-0.004") == "-0.004"


def test_latex_escapes_what_latex_would_read(outcomes):
    text = paper_tables.as_latex(tables("charm", outcomes)["tableVI"])
    assert r"89.4\% $\pm$ 1.8\% / 29.6\% [23.7\%, 36.3\%] (reader)" in text
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert {line.count("&") for line in body} == {6}
    assert paper_tables._tex(r"\input{x}_1") == r"\textbackslash{}input\{x\}\_1"


def test_a_broken_layout_is_one_line(tmp_path: Path, outcomes):
    with pytest.raises(ConfigError, match="not a layout"):
        paper_tables.load(tmp_path, "charm", outcomes)
    (tmp_path / "charm.yaml").write_text(
        "title: x\ntables: [{prefix: zz, title: T, rows: {a: A}, columns: {b: B}}]"
    )
    with pytest.raises(ConfigError, match=r"no claim has an id like zz\.row"):
        paper_tables.load(tmp_path, "charm", outcomes)

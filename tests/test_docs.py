"""The pages of the papers name code, experiments and claims that are there, and leave no claim out."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from experiments.verify import CLAIMS
from faultline.reporting import ledger

ROOT = Path(__file__).parents[1]
PAGES = {"charm": "charm.md", "fp": "agenticrag_fp.md", "ths": "ths.md"}
CODE = re.compile(r"`([^`]+)`")
EVERY = [*sorted(p.name for p in (ROOT / "docs").glob("*.md")), "../README.md"]


def rows(page):
    """Cells of the table under the heading, in backticks or not."""
    _, _, section = (ROOT / "docs" / page).read_text().partition("## Every equation, table and figure")
    lines = [line for line in section.splitlines() if line.startswith("| ")][2:]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(found) > 5
    assert all(len(cells) == 4 for cells in found)
    return found


@pytest.mark.parametrize(("paper", "page"), PAGES.items())
def test_every_claim_is_in_the_map_and_every_pattern_matches_one(paper, page):
    ids = [claim.id for claim in ledger.load(CLAIMS, [paper])]
    patterns = [pattern for *_, claims in rows(page) for pattern in CODE.findall(claims)]
    assert [i for i in ids if not any(fnmatchcase(i, p) for p in patterns)] == []
    assert [p for p in patterns if not any(fnmatchcase(i, p) for i in ids)] == []


@pytest.mark.parametrize("page", PAGES.values())
def test_every_file_and_experiment_of_the_map_is_there(page):
    for _, code, run, _ in rows(page):
        paths = CODE.findall(code)
        assert paths
        assert [p for p in paths if not (ROOT / "src" / "faultline" / p).is_file()] == []
        names = [n for n in CODE.findall(run) if re.fullmatch(r"(charm|fp|ths|bench)_\w+", n)]
        assert [n for n in names if not (ROOT / "conf" / "exp" / f"{n}.yaml").is_file()] == []


@pytest.mark.parametrize("page", EVERY)
def test_a_page_names_no_experiment_that_is_not_there(page):
    text = (ROOT / "docs" / page).read_text()
    named = set(re.findall(r"\+exp=([a-z]\w*)", text))
    assert [n for n in sorted(named) if not (ROOT / "conf" / "exp" / f"{n}.yaml").is_file()] == []
    linked = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    assert [f for f in linked if not (ROOT / "docs" / page).parent.joinpath(f).exists()] == []


@pytest.mark.parametrize("page", EVERY)
def test_commands_of_a_page_are_modules_that_are_there(page):
    text = (ROOT / "docs" / page).read_text()
    for package, module in set(re.findall(r"python -m (experiments|paper_figures)\.(\w+)", text)):
        assert (ROOT / package / f"{module}.py").is_file(), f"{page}: python -m {package}.{module}"

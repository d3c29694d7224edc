"""The promises of the set-up: what stands at the top, and that conda, pip and constraints agree."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TOP = {
    *("conf", "src", "experiments", "notebooks", "tests", "paper_figures", "docs"),
    *("environment.yml", "pyproject.toml", "constraints.txt", "Makefile"),
    *("README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff"),
}


def test_the_top_level_is_exactly_what_was_promised() -> None:
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True)
    if listed.returncode != 0:
        names = {p.name for p in ROOT.iterdir() if not p.name.startswith((".", "runs", "build"))}
    else:
        names = {line.split("/")[0] for line in listed.stdout.splitlines()}
    assert {name for name in names if not name.startswith(".")} == TOP


def test_conda_installs_what_pip_installs() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    pip = next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    conda = {str(Requirement(line)) for line in pip if not line.startswith("--")}
    declared = [*PROJECT["dependencies"], *(r for e in PROJECT["optional-dependencies"].values() for r in e)]
    assert conda == {str(Requirement(line)) for line in declared}
    assert "--constraint constraints.txt" in pip


def test_every_constraint_is_inside_its_range() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {Requirement(line).name.lower(): line.split("==")[1] for line in lines if line.strip()}
    declared = [*PROJECT["dependencies"], *(r for e in PROJECT["optional-dependencies"].values() for r in e)]
    for requirement in map(Requirement, declared):
        version = pinned[requirement.name.lower()]
        assert requirement.specifier.contains(Version(version), prereleases=True), (requirement, version)

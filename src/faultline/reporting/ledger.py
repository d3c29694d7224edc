"""The ledger: every published number, what it is compared with, and what came out.

A claim is data (``conf/claims/<paper>.yaml``): the printed text, its kind, its evidence, and the status it is
expected to have. Nothing here knows a number of a paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from faultline.errors import ConfigError, DataError
from faultline.printed import Printed, parse

Kind = Literal["recompute", "consistency", "statement", "rerun", "not_available"]
Status = Literal[
    "reproduced", "differs", "inconsistent", "conditional", "weakened", "not_run", "not_available"
]
KINDS: tuple[str, ...] = get_args(Kind)
STATUSES: tuple[str, ...] = get_args(Status)
PAPERS = ("charm", "fp", "ths")
UNDEFINED = "undefined"
"""Printed text of a number that the paper itself calls undefined."""

_FIELDS = {
    "id": True,
    "where": True,
    "text": True,
    "printed": False,
    "kind": True,
    "expected": True,
    "evidence": False,
    "unit": False,
    "half_unit": False,
    "note": False,
}


@dataclass(frozen=True, slots=True)
class Claim:
    """One published number or sentence.

    Attributes:
        id: Unique in the paper (``table3.front.FCD``).
        where: Table, figure or section.
        text: What the number is.
        printed: As printed; empty for a sentence.
        number: ``printed`` as a number, None where there is none.
        kind: How it can be checked.
        expected: The statuses that surprise nobody.
        evidence: A row selector, tests on rows, or a consistency function with arguments.
        note: What a reader of the line must know (second-hand, superseded, ...).
    """

    paper: str
    id: str
    where: str
    text: str
    printed: str
    number: Printed | None
    kind: Kind
    expected: tuple[Status, ...]
    evidence: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


def load(folder: Path, papers: Sequence[str] = PAPERS) -> list[Claim]:
    """Read the claims of some papers.

    Args:
        folder: ``conf/claims``.
        papers: Which files.

    Raises:
        ConfigError: No such file, or a claim that is not as documented (file, claim and field are named).
    """
    return [claim for paper in papers for claim in load_file(folder / f"{paper}.yaml", paper)]


def load_file(path: Path, paper: str) -> list[Claim]:
    """Read one file of claims, in its order.

    Raises:
        ConfigError: As for :func:`load`.
    """
    if not path.is_file():
        raise ConfigError(f"{path}: no such claims file; the papers are {', '.join(PAPERS)}")
    try:
        content = yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not YAML ({str(error).splitlines()[0]})") from error
    if not isinstance(content, dict) or not isinstance(content.get("claims"), list):
        raise ConfigError(f"{path}: expected a list under `claims`")
    claims = [_claim(record, paper, path) for record in content["claims"]]
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise ConfigError(f"{path}: claim {claim.id} occurs twice; rename one")
        seen.add(claim.id)
    return claims


def _claim(record: Any, paper: str, path: Path) -> Claim:
    if not isinstance(record, dict) or "id" not in record:
        raise ConfigError(f"{path}: a claim without an id: {record!r}")
    name = f"{path}: claim {record['id']}"
    missing = [key for key, needed in _FIELDS.items() if needed and key not in record]
    extra = [key for key in record if key not in _FIELDS]
    if missing or extra:
        raise ConfigError(f"{name}: fields missing {missing}, unknown {extra}")
    expected = record["expected"] if isinstance(record["expected"], list) else [record["expected"]]
    if record["kind"] not in KINDS or not set(expected) <= set(STATUSES):
        raise ConfigError(f"{name}: kind {record['kind']!r} or expected {expected} is unknown")
    if record["kind"] != "not_available" and not record.get("evidence"):
        raise ConfigError(f"{name}: a {record['kind']} claim needs evidence")
    printed = record.get("printed", "")
    if not isinstance(printed, str):
        raise ConfigError(f"{name}: printed is {printed!r}; quote it exactly as the paper prints it")
    return Claim(
        paper=paper,
        id=record["id"],
        where=record["where"],
        text=record["text"],
        printed=printed,
        number=_number(record, printed, name),
        kind=record["kind"],
        expected=tuple(expected),
        evidence=record.get("evidence", {}),
        note=record.get("note", ""),
    )


def _number(record: Mapping[str, Any], printed: str, name: str) -> Printed | None:
    if printed in ("", UNDEFINED):
        return None
    try:
        return parse(printed, percent=record.get("unit") == "percent", half_unit=record.get("half_unit"))
    except DataError as error:
        raise ConfigError(f"{name}: {error}") from error

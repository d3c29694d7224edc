"""What becomes of each claim: its status, the number beside the printed one, whether that was expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from faultline import results
from faultline.errors import StoreError
from faultline.reporting import ledger_evidence as evidence
from faultline.reporting.ledger import UNDEFINED, Claim, Status

_OF_FINDING: Mapping[str, Status] = {
    "consistent": "reproduced",
    "inconsistent": "inconsistent",
    "conditional": "conditional",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One line of the ledger.

    Attributes:
        computed: The number beside the printed one, None where there is none.
        detail: What it comes from, and why the status is what it is.
        backbone: Who produced it (``released`` for recomputation), empty without a number.
        low: Lower end of the computed number's 95 % interval, None without one.
        n: Cases behind the computed number, of ``total``.
    """

    claim: Claim
    status: Status
    computed: float | None
    detail: str
    backbone: str = ""
    low: float | None = None
    high: float | None = None
    n: int | None = None
    total: int | None = None

    @property
    def unexpected(self) -> bool:
        """Whether the status is not one that the claim expects."""
        return self.status not in self.claim.expected


def check(
    claims: Sequence[Claim],
    released: Mapping[str, evidence.Rows],
    runs: Sequence[evidence.Rows] = (),
    among: Sequence[Claim] | None = None,
) -> list[Outcome]:
    """The status of every claim.

    Args:
        claims: Of any papers.
        released: Paper to the rows recomputed from released data.
        runs: Rows of finished runs, newest first.
        among: All claims, where consistency checks look up printed numbers; default ``claims``.

    Raises:
        ConfigError: Evidence that names no row, or more than one, or no function.
    """
    by_paper: dict[str, dict[str, Claim]] = {}
    for claim in among or claims:
        by_paper.setdefault(claim.paper, {})[claim.id] = claim
    empty = evidence.Rows(results.frame([]))
    return [_check(claim, released.get(claim.paper, empty), runs, by_paper[claim.paper]) for claim in claims]


def _check(
    claim: Claim, rows: evidence.Rows, runs: Sequence[evidence.Rows], claims: Mapping[str, Claim]
) -> Outcome:
    if claim.kind == "recompute":
        return _recompute(claim, rows)
    if claim.kind == "statement":
        return _statement(claim, rows)
    if claim.kind == "rerun":
        return _rerun(claim, runs)
    if claim.kind == "consistency":
        finding = evidence.call(claim, claims)
        detail = "; ".join([finding.detail, *(f"assumes {text}" for text in finding.assumptions)])
        return Outcome(claim, _OF_FINDING[finding.verdict], finding.value, detail)
    return Outcome(claim, "not_available", None, claim.note)


def _recompute(claim: Claim, rows: evidence.Rows) -> Outcome:
    found = rows.one(claim.evidence, claim)
    if claim.printed == UNDEFINED or found.value is None or claim.number is None:
        same = claim.printed == UNDEFINED and found.value is None
        return _with(found, claim, "reproduced" if same else "differs", found.note, found.backbone)
    status: Status = "reproduced" if claim.number.matches(found.value) else "differs"
    return _with(found, claim, status, found.note, found.backbone)


def _statement(claim: Claim, rows: evidence.Rows) -> Outcome:
    """Reproduced if all tests hold, weakened if one of ``weakened_by`` holds too; differs otherwise."""
    holds, lines = evidence.conditions(claim.evidence.get("all", ()), rows, claim)
    weak, weak_lines = evidence.conditions(claim.evidence.get("weakened_by", ()), rows, claim)
    if not all(holds):
        failed = [line for ok, line in zip(holds, lines, strict=True) if not ok]
        return Outcome(claim, "differs", None, f"not so: {'; '.join(failed)}", "released")
    if any(weak):
        shown = [line for ok, line in zip(weak, weak_lines, strict=True) if ok]
        return Outcome(claim, "weakened", None, f"but {'; '.join(shown)}", "released")
    return Outcome(claim, "reproduced", None, "; ".join(lines), "released")


def _rerun(claim: Claim, runs: Sequence[evidence.Rows]) -> Outcome:
    """Filled from the newest run with a matching row; several matching rows must all agree with the print."""
    for rows in runs:
        found = [f for f in rows.matching(claim.evidence, exact=False) if f.value is not None]
        if not found:
            continue
        values = [f.value for f in found if f.value is not None]
        same = claim.number is not None and all(claim.number.matches(value) for value in values)
        backbones = ",".join(sorted({f.backbone for f in found}))
        detail = f"{rows.run} on {','.join(sorted({f.dataset for f in found}))}"
        if len(found) > 1:
            detail += f": {len(found)} rows match, {min(values):.4g} to {max(values):.4g}"
        return _with(found[0], claim, "reproduced" if same else "differs", detail, backbones)
    return Outcome(claim, "not_run", None, claim.note)


def _with(found: evidence.Found, claim: Claim, status: Status, detail: str, backbone: str) -> Outcome:
    return Outcome(claim, status, found.value, detail, backbone, found.low, found.high, found.n, found.total)


def unexpected(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Those whose status nobody expects."""
    return [outcome for outcome in outcomes if outcome.unexpected]


def newest_runs(runs_dir: Path) -> list[evidence.Rows]:
    """Rows of all finished runs (``<experiment>/<key>/DONE``), newest first; none if there is no folder.

    Raises:
        StoreError: A results file is unreadable.
    """
    done = [p for p in runs_dir.glob("*/*/DONE") if (p.parent / "results.parquet").is_file()]
    done.sort(key=lambda p: (p.stat().st_mtime_ns, str(p)), reverse=True)
    out = []
    for mark in done:
        path = mark.parent / "results.parquet"
        try:
            table = results.read(path)
        except (OSError, pa.ArrowException) as error:
            raise StoreError(f"{path}: unreadable ({error}); run that experiment again") from error
        again = table[table["backbone"] != "released"]
        out.append(evidence.Rows(again, str(mark.parent.relative_to(runs_dir))))
    return out


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The ledger as plain data: ``claims``, ``by_kind``, ``by_status``, ``by_paper``, ``unexpected``."""
    by_paper: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        by_paper.setdefault(outcome.claim.paper, Counter())[outcome.status] += 1
    return {
        "claims": [_record(outcome) for outcome in outcomes],
        "by_kind": dict(sorted(Counter(o.claim.kind for o in outcomes).items())),
        "by_status": dict(sorted(Counter(o.status for o in outcomes).items())),
        "by_paper": {paper: dict(sorted(counts.items())) for paper, counts in by_paper.items()},
        "unexpected": [f"{o.claim.paper}:{o.claim.id}" for o in unexpected(outcomes)],
    }


def _record(outcome: Outcome) -> dict[str, Any]:
    claim = outcome.claim
    return {
        "paper": claim.paper,
        "id": claim.id,
        "where": claim.where,
        "text": claim.text,
        "printed": claim.printed,
        "kind": claim.kind,
        "status": outcome.status,
        "expected": list(claim.expected),
        "computed": outcome.computed,
        "backbone": outcome.backbone,
        "low": outcome.low,
        "high": outcome.high,
        "n_scored": outcome.n,
        "n_total": outcome.total,
        "detail": outcome.detail,
        "note": claim.note,
        "unexpected": outcome.unexpected,
    }

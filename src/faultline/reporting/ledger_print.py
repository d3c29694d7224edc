"""The ledger for a person (a line a claim, then a summary) and for a program (JSON)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import orjson
import pandas as pd

from faultline.errors import ConfigError
from faultline.reporting.console import Terminal
from faultline.reporting.ledger import STATUSES
from faultline.reporting.ledger_check import Outcome, summary, unexpected


def as_lines(outcomes: Sequence[Outcome], statuses: Sequence[str] | None, terminal: Terminal) -> None:
    """One line a claim, then counts by paper and kind, then whatever was not expected.

    Args:
        outcomes: The whole ledger.
        statuses: List only these; None lists all.
        terminal: For a person.

    Raises:
        ConfigError: An unknown status.
    """
    wrong = set(statuses or ()) - set(STATUSES)
    if wrong:
        raise ConfigError(f"--status {', '.join(sorted(wrong))}: choose from {', '.join(STATUSES)}")
    for outcome in outcomes:
        if statuses is None or outcome.status in statuses:
            terminal.print(line(outcome))
    terminal.table(f"{len(outcomes)} claims", counts(outcomes))
    surprising = unexpected(outcomes)
    for outcome in surprising:
        terminal.print(f"unexpected: {line(outcome)}; expected {' or '.join(outcome.claim.expected)}")
    if not surprising:
        terminal.print("nothing unexpected")


def as_json(outcomes: Sequence[Outcome], terminal: Terminal) -> None:
    """``claims``, ``by_kind``, ``by_status``, ``by_paper``, ``unexpected``."""
    terminal.print(orjson.dumps(summary(outcomes), option=orjson.OPT_INDENT_2).decode())


def line(outcome: Outcome) -> str:
    """``ths table3.front.FCD  reproduced  0.480  0.479968  [released]  Table 3: ...``."""
    claim = outcome.claim
    shown = "" if outcome.computed is None else f"{_scaled(outcome):.6g}"
    who = f" [{outcome.backbone}]" if outcome.backbone else ""
    numbers = f"printed {claim.printed} computed {shown or '-'}{who} " if claim.printed else ""
    why = "; ".join(dict.fromkeys(text for text in (outcome.detail, claim.note) if text))
    about = f"{claim.where}: {claim.text}"
    return f"{claim.paper:<5} {outcome.status:<13} {claim.id:<34} {numbers}{about}" + (
        f" ({why})" if why else ""
    )


def counts(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """Claims by paper and kind, with their statuses."""
    groups: dict[tuple[str, str], Counter[str]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.claim.paper, outcome.claim.kind), Counter())[outcome.status] += 1
    records = [
        {
            "paper": paper,
            "kind": kind,
            "claims": sum(statuses.values()),
            "status": ", ".join(f"{statuses[s]} {s}" for s in STATUSES if statuses[s]),
        }
        for (paper, kind), statuses in sorted(groups.items())
    ]
    return pd.DataFrame.from_records(records)


def _scaled(outcome: Outcome) -> float:
    """Percentages as they are printed."""
    number = outcome.claim.number
    assert outcome.computed is not None
    is_percent = number is not None and number.percent
    return outcome.computed * 100 if is_percent else outcome.computed

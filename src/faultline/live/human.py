"""The human checkpoint (paper 1, IV-D and VII-C, HITL-AP): evidence out, a decision in, and a safe default.

Low-confidence cascades are mitigated by the machine; high-confidence ones wait for a person, for so long.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from faultline.charm.options import require_above, require_choice
from faultline.live.watch import Seen
from faultline.records import Stage

DECISIONS = ("approve", "edit", "reject")
KIND = "faultline.human_checkpoint"
WAITING = 10_000
"""Questions that a process remembers; the oldest, which nobody answered, are forgotten and asked anew."""

Key = TypeVar("Key")
Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How a person is asked.

    Attributes:
        limit_s: Seconds until the default counts.
        default: ``reject`` (safe) or ``approve``; an unreadable answer is the default too.
        safe_answer: What stands in place of a rejected text.

    Raises:
        ConfigError: An unknown default, or no time.
    """

    limit_s: float = 3600.0
    default: str = "reject"
    safe_answer: str = "This answer was withheld: its evidence does not support it."

    def __post_init__(self) -> None:
        require_choice("checkpoint.default", self.default, ("approve", "reject"))
        require_above("checkpoint.limit_s", self.limit_s, 0.0)


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided.

    Attributes:
        kind: ``approve``, ``edit`` or ``reject``.
        text: The person's text, of an edit.
        by: ``human``, or ``default`` with ``why``.
        why: ``late``, ``unreadable`` or ``unanswered``; empty for a person's decision.
    """

    kind: str
    text: str = ""
    by: str = "human"
    why: str = ""


def question(
    checkpoint: Checkpoint, trajectory: str, seen: Seen, stages: Sequence[Stage], now: float | None = None
) -> dict[str, Any]:
    """What the person is shown: stages, signals, the claim and the passage that does not support it.

    JSON only, so that any checkpointer and any page can hold it.
    """
    asked = time.time() if now is None else now
    return {
        "kind": KIND,
        "trajectory": trajectory,
        "asked_at": asked,
        "deadline": asked + checkpoint.limit_s,
        "default": checkpoint.default,
        "options": list(DECISIONS),
        "failure": seen.failure,
        "verdict": None if seen.verdict is None else seen.verdict.record(),
        "stages": [{"index": s.index, "kind": s.kind, "query": s.query, "text": s.text} for s in stages],
    }


def decided(
    checkpoint: Checkpoint, asked: Mapping[str, Any], answer: Any, now: float | None = None
) -> Decision:
    """A person's answer as a decision; a late or unreadable one is the default.

    Args:
        checkpoint: How the person was asked.
        asked: What :func:`question` gave.
        answer: ``{"decision": "approve" | "edit" | "reject", "text": ...}`` or the bare word.
        now: Unix time of the answer; default this moment.
    """
    if (time.time() if now is None else now) > float(asked["deadline"]):
        return Decision(checkpoint.default, by="default", why="late")
    given = {"decision": answer} if isinstance(answer, str) else answer
    if not isinstance(given, Mapping) or given.get("decision") not in DECISIONS:
        return Decision(checkpoint.default, by="default", why="unreadable")
    text = given.get("text", "")
    if given["decision"] == "edit" and (not isinstance(text, str) or not text.strip()):
        return Decision(checkpoint.default, by="default", why="unreadable")
    return Decision(str(given["decision"]), text if given["decision"] == "edit" else "")


def remember(waiting: dict[Key, Kept], key: Key, value: Kept, limit: int = WAITING) -> None:
    """Keep what belongs to an open question, and forget the oldest beyond the limit."""
    waiting[key] = value
    while len(waiting) > limit:
        del waiting[next(iter(waiting))]


def wait(
    checkpoint: Checkpoint, asked: Mapping[str, Any], ask: Callable[[Mapping[str, Any]], Any]
) -> Decision:
    """Ask in this process (a console, a chat window), and take the default when the time is over.

    Args:
        checkpoint: How the person is asked.
        asked: What :func:`question` gave.
        ask: Shows the question and returns the answer; it may take its time, and may fail.
    """
    answer: queue.Queue[Any] = queue.Queue(maxsize=1)

    def work() -> None:
        try:
            answer.put(ask(asked))
        except Exception:  # noqa: BLE001 - a broken page is no approval
            answer.put(None)

    threading.Thread(target=work, name="faultline-human", daemon=True).start()
    try:
        return decided(
            checkpoint, asked, answer.get(timeout=max(0.0, float(asked["deadline"]) - time.time()))
        )
    except queue.Empty:
        return Decision(checkpoint.default, by="default", why="unanswered")

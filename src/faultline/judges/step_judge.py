"""A language model that names the step which made a log fail, in the three protocols of Who&When.

``all_at_once``: the whole log in one request. ``step_by_step``: the log grows by one step a request until the
model says that the newest one is the mistake. ``binary_search``: which half holds the mistake, until one step
is left. (Zhang et al. 2025, section 4.) The prompts are our own; :data:`DIGEST` is their version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from faultline.chat.messages import Message, Reply, Request
from faultline.codec import key_of
from faultline.errors import ConfigError, Missing

PROTOCOLS = ("all_at_once", "step_by_step", "binary_search")
SYSTEM = (
    "You examine the log of a system that failed its task. The decisive mistake is the earliest step that "
    "made the final answer wrong: had it been right, the task would have succeeded. Steps are numbered."
)
ASKED = {
    "all_at_once": "Which step is the decisive mistake? Give its number.",
    "step_by_step": "Is the last step shown the decisive mistake? Answer true or false.",
    "binary_search": (
        "Is the decisive mistake among steps {low} to {middle} (first) or {next} to {high} (second)?"
    ),
}
FIELDS: dict[str, tuple[str, dict[str, Any]]] = {
    "all_at_once": ("step", {"type": "integer"}),
    "step_by_step": ("mistake", {"type": "boolean"}),
    "binary_search": ("half", {"type": "string", "enum": ["first", "second"]}),
}
DIGEST = key_of([SYSTEM, ASKED, FIELDS])


class Chat(Protocol):
    """What a judge asks: :class:`faultline.chat.client.ChatClient`."""

    def ask(self, request: Request) -> Reply:
        """The reply to one request."""
        ...


@dataclass(frozen=True, slots=True)
class Log:
    """A failed log as a judge sees it.

    Attributes:
        question: The task.
        steps: Text of each step, the first one is number 1.
        answer: What the system answered, None if it is not said apart from the steps.
        gold: The correct answer, None for a judge without gold.
    """

    question: str
    steps: tuple[str, ...]
    answer: str | None = None
    gold: str | None = None


@dataclass(slots=True)
class StepVerdict:
    """What a judge says.

    Attributes:
        step: 1-based; 0 where it names none.
        missing: Why there is no verdict, None if there is one.
        calls: Requests.
        tokens: In and out, as the server counted them; None if one reply did not say.
    """

    step: int = 0
    missing: Missing | None = None
    calls: int = 0
    tokens: int | None = 0
    replies: list[str] = field(default_factory=list)

    def charge(self, reply: Reply) -> None:
        """Add a reply to the bill."""
        self.calls += reply.calls
        used = reply.usage
        if self.tokens is None or used.input_tokens is None or used.output_tokens is None:
            self.tokens = None
        else:
            self.tokens += used.input_tokens + used.output_tokens
        self.replies.append(reply.text)


def judge(
    chat: Chat, log: Log, protocol: str, *, max_chars: int | None = None, sample: int = 0
) -> StepVerdict:
    """The step that a model blames.

    Args:
        chat: The model.
        log: At least one step.
        protocol: One of :data:`PROTOCOLS`.
        max_chars: Longest request; a longer one is not sent and the verdict is ``too_long``: a log that is
            cut silently would be judged on something else.
        sample: Sample index.

    Raises:
        ConfigError: An unknown protocol, or an empty log.
    """
    if protocol not in PROTOCOLS:
        raise ConfigError(f"protocol={protocol}: choose one of {', '.join(PROTOCOLS)}")
    if not log.steps:
        raise ConfigError("a judge needs a log of at least one step")
    verdict = StepVerdict()
    asker = _Asker(chat, log, max_chars, sample, verdict)
    if protocol == "all_at_once":
        step = asker.ask(protocol, 1, len(log.steps))
        if isinstance(step, int):
            verdict.step = step if 1 <= step <= len(log.steps) else 0
            verdict.missing = None if verdict.step else Missing.PARSE_ERROR
    elif protocol == "step_by_step":
        verdict.step = _grow(asker, len(log.steps))
    else:
        verdict.step = _halve(asker, len(log.steps))
    return verdict


def requests_of(log: Log, protocol: str) -> tuple[int, int]:
    """Most requests of a protocol and the characters that they hold, for an estimate before a run."""
    sizes = [len(step) + 12 for step in log.steps]
    frame = len(SYSTEM) + len(log.question) + 200
    if protocol == "all_at_once":
        return 1, sum(sizes) + frame
    if protocol == "step_by_step":
        return len(sizes), sum(sum(sizes[: i + 1]) + frame for i in range(len(sizes)))
    rounds = max(1, (len(sizes) - 1).bit_length())
    return rounds, sum(sum(sizes) // 2**i + frame for i in range(rounds))


@dataclass(slots=True)
class _Asker:
    chat: Chat
    log: Log
    max_chars: int | None
    sample: int
    verdict: StepVerdict

    def ask(self, protocol: str, low: int, high: int, **told: int) -> Any:
        """The field of one reply, None with the verdict's reason set."""
        request = render(self.log, protocol, low, high, self.sample, **told)
        if self.max_chars is not None and sum(len(m.text) for m in request.messages) > self.max_chars:
            self.verdict.missing = Missing.TOO_LONG
            return None
        reply = self.chat.ask(request)
        self.verdict.charge(reply)
        if reply.missing is not None or reply.data is None:
            self.verdict.missing = reply.missing or Missing.PARSE_ERROR
            return None
        return reply.data[FIELDS[protocol][0]]


def _grow(asker: _Asker, count: int) -> int:
    for step in range(1, count + 1):
        said = asker.ask("step_by_step", 1, step)
        if said is None:
            return 0
        if said:
            return step
    return 0


def _halve(asker: _Asker, count: int) -> int:
    low, high = 1, count
    while low < high:
        middle = (low + high) // 2
        said = asker.ask("binary_search", low, high, middle=middle)
        if said is None:
            return 0
        low, high = (low, middle) if said == "first" else (middle + 1, high)
    return low


def render(log: Log, protocol: str, low: int, high: int, sample: int, **told: int) -> Request:
    """The request over steps ``low`` to ``high``."""
    parts = [f"Task: {log.question}"]
    if log.gold is not None:
        parts.append(f"Correct answer: {log.gold}")
    if log.answer is not None:
        parts.append(f"Answer given: {log.answer}")
    parts.append("Log:\n" + "\n".join(_numbered(log.steps[low - 1 : high], low)))
    middle = told.get("middle", high)
    parts.append(ASKED[protocol].format(low=low, middle=middle, next=middle + 1, high=high))
    name, kind = FIELDS[protocol]
    schema = {"type": "object", "properties": {name: kind}, "required": [name], "additionalProperties": False}
    return Request(
        (Message("system", SYSTEM), Message("user", "\n\n".join(parts))), schema=schema, sample=sample
    )


def _numbered(steps: Sequence[str], first: int) -> list[str]:
    return [f"Step {number}: {text}" for number, text in enumerate(steps, first)]

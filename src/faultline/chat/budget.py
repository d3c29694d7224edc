"""Prices, what was used, and the budget that stops a run before it is overspent."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from faultline.chat.messages import Reply, Request, Usage
from faultline.chat.spec import ChatSpec
from faultline.errors import ConfigError, FaultlineError

CHARACTERS_A_TOKEN = 3.0
"""Low for English (about 4): an estimate before a call should rather be too high."""

FREE = ("local", "ollama")


class BudgetError(FaultlineError):
    """The next call could overspend the budget; the run stops, and can be resumed with a larger one."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars a million tokens, as listed on a date."""

    input: float
    output: float
    as_of: str

    def cost(self, usage: Usage) -> float | None:
        """Dollars; None where the server did not count the tokens."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1_000_000


def price_of(spec: ChatSpec, table: Mapping[str, Mapping[str, float]], as_of: str) -> Price | None:
    """The price of a model: 0 for what runs on one's own machine, None if the table lacks it."""
    if spec.provider in FREE:
        return Price(0.0, 0.0, as_of)
    entry = table.get(spec.model)
    return None if entry is None else Price(float(entry["input"]), float(entry["output"]), as_of)


@dataclass(frozen=True, slots=True)
class Used:
    """What calls took, cached ones included: costs are billed as if nothing were shared."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    uncounted: int = 0

    def plus(self, reply: Reply) -> Used:
        """With one more reply; one whose tokens are unknown is counted as such."""
        usage = reply.usage
        known = usage.input_tokens is not None and usage.output_tokens is not None
        return Used(
            self.calls + reply.calls,
            self.input_tokens + (usage.input_tokens or 0),
            self.output_tokens + (usage.output_tokens or 0),
            self.uncounted + (0 if known else 1),
        )


_meter: ContextVar[list[Used] | None] = ContextVar("meter", default=None)


@contextmanager
def metered() -> Iterator[list[Used]]:
    """What the replies of this thread took while the block ran: the last item of the list."""
    tally = [Used()]
    token = _meter.set(tally)
    try:
        yield tally
    finally:
        _meter.reset(token)


def record(reply: Reply) -> None:
    """Count a reply in the meter that is open, if one is."""
    tally = _meter.get()
    if tally is not None:
        tally.append(tally[-1].plus(reply))


@dataclass(slots=True)
class Budget:
    """Stops before a call that could overspend. Cached replies cost nothing.

    Attributes:
        usd: Dollars of this run, None for no bound.
        calls: Calls of this run, None for no bound.
        price: Of the model.
        max_tokens: Bound of one reply.
    """

    usd: float | None
    calls: int | None
    price: Price | None
    max_tokens: int
    spent_usd: float = 0.0
    spent_calls: int = 0
    held_usd: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if self.usd is not None and self.price is None:
            raise ConfigError(
                "budget.usd: the model has no price in conf/prices; add it, or use budget.calls"
            )

    def hold(self, request: Request) -> float:
        """Set the most that a call can cost aside.

        Raises:
            BudgetError: It does not fit any more.
        """
        most = 0.0 if self.price is None else self._most(request)
        with self._lock:
            if self.calls is not None and self.spent_calls + 1 > self.calls:
                raise BudgetError(
                    f"budget.calls={self.calls} is used up; raise it and repeat the command, "
                    f"finished work is kept"
                )
            if self.usd is not None and self.spent_usd + self.held_usd + most > self.usd:
                raise BudgetError(
                    f"budget.usd={self.usd:g}: {self.spent_usd:.4f} spent, the next call could cost "
                    f"{most:.4f}; raise it and repeat the command, finished work is kept"
                )
            self.spent_calls += 1
            self.held_usd += most
        return most

    def settle(self, held: float, usage: Usage | None) -> None:
        """Replace what was held by what was used; unknown usage is billed as held."""
        cost = 0.0 if self.price is None or usage is None else self.price.cost(usage)
        with self._lock:
            self.held_usd -= held
            self.spent_usd += held if cost is None else cost

    def _most(self, request: Request) -> float:
        assert self.price is not None
        return self.price.cost(Usage(estimated_tokens(request), self.max_tokens)) or 0.0


def estimated_tokens(request: Request) -> int:
    """Input tokens of a request, estimated from its characters (and rather too high)."""
    characters = sum(len(m.text) + 16 for m in request.messages)
    characters += len(str(request.schema or "")) + sum(len(str(tool)) for tool in request.tools)
    return int(characters / CHARACTERS_A_TOKEN) + 1

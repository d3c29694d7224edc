"""What is asked of a chat model, and what comes back: frozen, so that a request can be a cache key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from faultline.errors import Missing

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for; ``arguments`` as it gave them."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn.

    Attributes:
        tool_calls: Of an assistant turn.
        tool_call_id: Of a tool turn: the call that it answers.
    """

    role: Role
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that a reply depends on besides the model and its sampling parameters.

    Attributes:
        messages: Fully rendered.
        schema: JSON schema of an object that the reply must be, None for free text.
        tools: Tools on offer, each with ``name``, ``description`` and ``parameters`` (a JSON schema).
        sample: Sample index: repeats and placebos are different samples.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    sample: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them; None where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            _sum(self.input_tokens, other.input_tokens), _sum(self.output_tokens, other.output_tokens)
        )


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One generated token: its bytes in hex (a token may be a part of a character), its natural log-prob."""

    hex: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    Attributes:
        text: As generated; may be empty where ``missing`` says why.
        missing: ``refused``, ``truncated``, ``timeout`` or ``parse_error``.
        finish: The backend's own word for why it stopped.
        model: The model's name as the server gave it.
        logprobs: Of the generated tokens, empty if the backend gives none.
        data: The parsed object of a request with a schema.
        calls: Requests that the reply took: 2 with a repair.
        cached: Whether all of them were in the cache.
    """

    text: str
    missing: Missing | None = None
    finish: str = ""
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    logprobs: tuple[TokenLogprob, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    data: Mapping[str, Any] | None = None
    calls: int = 1
    cached: bool = False


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b

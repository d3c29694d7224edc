"""The three-stage review chain of paper 3, over the chat seam, with a memory lookup before every call.

A stage that fails leaves a typed reason; the stages after it are ``not_run``, and the next prompt goes on.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from faultline.agents.envelopes import StageMessage, pack, unpack
from faultline.chat.messages import Message, Reply, Request
from faultline.errors import ConfigError, Missing

STAGES = ("front", "second", "third")
WHISPERS = ("none", "full", "summary")
AGENTS: Mapping[str, str] = {
    "front": "FrontEndAgent",
    "second": "SecondLevelReviewer",
    "third": "ThirdLevelReviewer",
}
NEXT = {"front": "SecondLevelReviewer", "second": "ThirdLevelReviewer", "third": "user"}
SUMMARY_WORDS = 25
"""Of the whisper value in a ``summary``: its first words."""
REVIEW: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "utterance": {"type": "string", "minLength": 1},
        "whisper_context": {"type": "string"},
        "whisper_value": {"type": "string"},
    },
    "required": ["utterance", "whisper_context", "whisper_value"],
    "additionalProperties": False,
}


class Chat(Protocol):
    """What a stage asks: :class:`faultline.chat.client.ChatClient`."""

    def ask(self, request: Request) -> Reply:
        """The reply to one request."""
        ...


class StageMemory(Protocol):
    """What a stage looks up before it asks. Keys are the texts that the stage was given."""

    def get(self, text: str) -> str | None:
        """What was said to a text that counts as the same, None for a miss."""
        ...

    def put(self, text: str, said: str) -> None:
        """Remember what was said to a text."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request to the chain; ``subset`` is ``realistic`` or ``stress``."""

    id: str
    text: str
    subset: str


@dataclass(frozen=True, slots=True)
class StageRecord:
    """What one stage did.

    Attributes:
        text: The utterance, empty where ``missing`` says why.
        envelope: The Open Floor envelope as sent.
        hit: Whether the memory served it.
        calls: Requests to the model.
        seconds: Wall clock; never in a results table.
    """

    stage: str
    text: str = ""
    envelope: str = ""
    hit: bool = False
    calls: int = 0
    seconds: float = 0.0
    missing: Missing | None = None


@dataclass(frozen=True, slots=True)
class ChainRecord:
    """All stages of one prompt."""

    prompt: Prompt
    stages: tuple[StageRecord, ...]


@dataclass(frozen=True, slots=True)
class ReviewChain:
    """The chain.

    Attributes:
        chats: A model by stage (each with its own sampling).
        systems: The system prompt by stage.
        whisper: What of the second stage's whisper reaches the third: ``none``, ``full`` or ``summary``
            (context, and the first :data:`SUMMARY_WORDS` words of the value).
        max_chars: Longest request; a longer one is ``too_long`` and not sent, since cutting it silently
            would ask something else.
    """

    chats: Mapping[str, Chat]
    systems: Mapping[str, str]
    whisper: str = "none"
    max_chars: int | None = None

    version = 1

    def __post_init__(self) -> None:
        if self.whisper not in WHISPERS:
            raise ConfigError(f"whisper={self.whisper}: choose one of {', '.join(WHISPERS)}")
        for name in ("chats", "systems"):
            absent = [stage for stage in STAGES if stage not in getattr(self, name)]
            if absent:
                raise ConfigError(f"review chain: {name} has no entry for {', '.join(absent)}")

    def run(self, prompt: Prompt, memories: Mapping[str, StageMemory] | None = None) -> ChainRecord:
        """All stages of a prompt; nothing but a model that cannot be used at all stops it.

        Args:
            prompt: The request.
            memories: By stage; a stage without one always asks.
        """
        done: list[StageRecord] = []
        message = StageMessage(prompt.text)
        failed = not prompt.text.strip()
        for stage in STAGES:
            if failed:
                why = Missing.NOT_RUN if done else Missing.NOT_APPLICABLE
                done.append(StageRecord(stage, missing=why))
                continue
            record, message = self._stage(stage, prompt, message, (memories or {}).get(stage))
            done.append(record)
            failed = record.missing is not None
        return ChainRecord(prompt, tuple(done))

    def _stage(
        self, stage: str, prompt: Prompt, before: StageMessage, memory: StageMemory | None
    ) -> tuple[StageRecord, StageMessage]:
        started = time.perf_counter()
        shown = self.shown(stage, prompt, before)
        kept = memory.get(shown) if memory is not None else None
        if kept is not None and not isinstance(served := unpack(kept), Missing):
            envelope = pack(served, prompt.id, AGENTS[stage], NEXT[stage])
            took = time.perf_counter() - started
            return StageRecord(stage, served.utterance, envelope, True, 0, took), served
        said, calls = self._asked(stage, shown)
        took = time.perf_counter() - started
        if isinstance(said, Missing):
            return StageRecord(stage, calls=calls, seconds=took, missing=said), before
        envelope = pack(said, prompt.id, AGENTS[stage], NEXT[stage])
        if memory is not None:
            memory.put(shown, envelope)
        return StageRecord(stage, said.utterance, envelope, False, calls, took), said

    def shown(self, stage: str, prompt: Prompt, before: StageMessage) -> str:
        """The user turn of a stage, which is also the key of its memory."""
        if stage == "front":
            return prompt.text
        parts = [f"User request:\n{prompt.text}", f"Text under review:\n{before.utterance}"]
        if stage == "third" and self.whisper != "none":
            value = before.whisper_value
            if self.whisper == "summary":
                value = " ".join(value.split()[:SUMMARY_WORDS])
            parts.append(f"Reviewer's private note ({before.whisper_context}):\n{value}")
        return "\n\n".join(parts)

    def _asked(self, stage: str, shown: str) -> tuple[StageMessage | Missing, int]:
        system = self.systems[stage]
        if self.max_chars is not None and len(system) + len(shown) > self.max_chars:
            return Missing.TOO_LONG, 0
        schema = REVIEW if stage == "second" else None
        turns = (Message("system", system), Message("user", shown))
        reply = self.chats[stage].ask(Request(turns, schema=schema))
        if reply.missing is not None:
            return reply.missing, reply.calls
        if schema is None:
            said = StageMessage(reply.text.strip())
        elif reply.data is None:
            return Missing.PARSE_ERROR, reply.calls
        else:
            said = StageMessage(*(str(reply.data[name]) for name in REVIEW["required"]))
        return (said if said.utterance.strip() else Missing.PARSE_ERROR), reply.calls

"""Messages between the agents of the review chain: Open Floor envelopes, by the ``openfloor`` package.

The public text is an ``utterance`` event. The whisper is a second one, addressed privately to the next agent:
its ``context`` says what the next agent should know, its text is the value (paper 3, section 4).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from openfloor import (
    Conversation,
    DialogEvent,
    Envelope,
    Sender,
    Span,
    TextFeature,
    To,
    Token,
    UtteranceEvent,
)

from faultline.errors import Missing

URI = "tag:faultline,2026:{}"


@dataclass(frozen=True, slots=True)
class StageMessage:
    """What one agent hands to the next.

    Attributes:
        utterance: The text for everybody.
        whisper_context: For the next agent only; empty if there is no whisper.
        whisper_value: The same.
    """

    utterance: str
    whisper_context: str = ""
    whisper_value: str = ""


def pack(message: StageMessage, conversation: str, speaker: str, listener: str) -> str:
    """The envelope of a message as JSON; equal messages give equal bytes (no clock, no random id).

    Args:
        message: Utterance and whisper.
        conversation: Id, for example of the prompt.
        speaker: Name of the agent that speaks.
        listener: Name of the one that is spoken to.
    """
    to = URI.format(listener)
    events = [UtteranceEvent(to=To(to), dialogEvent=_event(conversation, speaker, "u", message.utterance))]
    if message.whisper_context or message.whisper_value:
        whisper = _event(conversation, speaker, "w", message.whisper_value, message.whisper_context)
        events.append(UtteranceEvent(to=To(to, private=True), reason="whisper", dialogEvent=whisper))
    sender = Sender(URI.format(speaker))
    envelope = Envelope(conversation=Conversation(id=conversation), sender=sender, events=events)
    return json.dumps({"openFloor": dict(envelope)}, sort_keys=True, ensure_ascii=False, default=dict)


def unpack(text: str) -> StageMessage | Missing:
    """The message in an envelope, ``parse_error`` for one that is broken or has no utterance."""
    try:
        events = json.loads(text)["openFloor"]["events"]
        said = [_said(event) for event in events if event.get("eventType") == "utterance"]
    except (ValueError, LookupError, TypeError, AttributeError):
        return Missing.PARSE_ERROR
    public = [value for private, _, value in said if not private]
    whispers = [(context, value) for private, context, value in said if private]
    if not public or not public[0].strip():
        return Missing.PARSE_ERROR
    context, value = whispers[0] if whispers else ("", "")
    return StageMessage(public[0], context, value)


def _event(conversation: str, speaker: str, kind: str, text: str, context: str = "") -> DialogEvent:
    return DialogEvent(
        speakerUri=URI.format(speaker),
        id=f"{conversation}/{speaker}/{kind}",
        span=Span(startOffset=timedelta(0)),  # a clock time would make equal messages differ
        features={"text": TextFeature(tokens=[Token(value=text)])},
        context=context or None,
    )


def _said(event: dict[str, Any]) -> tuple[bool, str, str]:
    dialog = event["parameters"]["dialogEvent"]
    text = "".join(str(token["value"]) for token in dialog["features"]["text"]["tokens"])
    return bool(event.get("to", {}).get("private", False)), str(dialog.get("context") or ""), text

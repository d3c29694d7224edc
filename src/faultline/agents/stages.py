"""From what a policy did to a finished stage."""

from __future__ import annotations

from faultline.records import Action, ConfidenceSource, Stage, StageKind


def finished(index: int, kind: StageKind, action: Action) -> Stage:
    """The stage that an action makes; its confidence says where it came from.

    Args:
        index: 1-based.
        kind: Of the stage.
        action: Of the policy.
    """
    source: ConfidenceSource = "none"
    if action.confidence is not None:
        source = "logprobs" if action.token_logprobs else "stated"
    return Stage(
        index=index,
        kind=kind,
        text=action.text,
        answer=action.answer,
        confidence=action.confidence,
        confidence_source=source,
        token_logprobs=action.token_logprobs,
        missing=action.missing,
    )

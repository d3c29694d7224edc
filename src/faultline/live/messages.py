"""LangChain messages as stages: tool results retrieve, model turns reason or conclude."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from faultline.chat.logprobs import aligned, confidence, last_sentence
from faultline.chat.messages import TokenLogprob
from faultline.records import ConfidenceSource, Hit, Passage, Stage, StageKind


def question(messages: Sequence[BaseMessage]) -> str:
    """The text of the last human message, empty without one."""
    told = [str(message.text) for message in messages if isinstance(message, HumanMessage)]
    return told[-1] if told else ""


def tool_stage(message: ToolMessage, query: str, first: bool) -> Stage:
    """The stage of a tool result: its top-1 passage is the text, all passages are the hits.

    Args:
        message: Documents are taken from its artifact (LangChain's ``content_and_artifact`` tools), else the
            content is one passage.
        query: What the tool was asked.
        first: The first tool result of a trajectory is the retrieval, later ones are tool calls.
    """
    hits = tuple(Hit(passage, float(-rank), rank) for rank, passage in enumerate(passages(message), start=1))
    kind: StageKind = "retrieval" if first else "tool_call"
    return Stage(0, kind, hits[0].passage.rendered if hits else "", query=query, hits=hits)


def passages(message: ToolMessage) -> list[Passage]:
    """What a tool brought back, best first."""
    artifact = message.artifact
    documents = artifact if isinstance(artifact, list | tuple) else []
    found = [p for p in (_document(d, i) for i, d in enumerate(documents, start=1)) if p is not None]
    text = str(message.text)
    return found or ([Passage("1", "", (text,))] if text.strip() else [])


def model_stage(message: AIMessage) -> Stage:
    """The stage of a model turn: a thought before a tool call, else the synthesis.

    Log-probabilities are used where the model returns them (OpenAI's layout of ``response_metadata``).
    """
    text = str(message.text).strip()
    tokens = logprobs(message)
    sure = confidence(aligned(tokens, last_sentence(text)))
    source: ConfidenceSource = "none" if sure is None else "logprobs"
    return Stage(
        0,
        "reasoning" if message.tool_calls else "synthesis",
        text,
        confidence=sure,
        confidence_source=source,
        token_logprobs=aligned(tokens, text),
    )


def logprobs(message: AIMessage) -> tuple[TokenLogprob, ...]:
    """Token log-probabilities of a reply; empty where the server gave none, or in another layout."""
    told = message.response_metadata.get("logprobs")
    content = told.get("content") if isinstance(told, Mapping) else None
    found = []
    for token in content if isinstance(content, list) else []:
        if not isinstance(token, Mapping) or not isinstance(token.get("logprob"), int | float):
            return ()
        raw = token.get("bytes")
        try:
            piece = bytes(raw) if isinstance(raw, list) else str(token.get("token", "")).encode()
        except (TypeError, ValueError):
            return ()
        found.append(TokenLogprob(piece.hex(), float(token["logprob"])))
    return tuple(found)


def query_of(messages: Sequence[BaseMessage], message: ToolMessage) -> str:
    """The arguments of the call that a tool message answers, as one text."""
    for earlier in reversed(messages):
        if isinstance(earlier, AIMessage):
            for call in earlier.tool_calls:
                if call["id"] == message.tool_call_id:
                    return " ".join(str(value) for value in call["args"].values())
    return ""


def _document(document: Any, rank: int) -> Passage | None:
    if isinstance(document, Passage):
        return document
    text = getattr(document, "page_content", None)
    if not isinstance(text, str):
        return None
    metadata = getattr(document, "metadata", None)
    known = metadata if isinstance(metadata, Mapping) else {}
    name = str(getattr(document, "id", None) or known.get("id") or rank)
    return Passage(name, str(known.get("title") or ""), (text,))

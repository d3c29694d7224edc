"""What an agent graph does about a flag: changes of its messages, as LangGraph state updates (M1 to M4).

Pure functions: they say which messages go, change or come, and where the graph goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage

from faultline.charm.verdict import Verdict
from faultline.live.human import Decision

Requery = Callable[[str, str, Verdict], str]
"""(question, failed query, verdict) to the next query."""

Update = dict[str, Any]


def requery(question: str, query: str, verdict: Verdict) -> str:
    """CRR's default: the question itself joins the query, so that another passage may come first."""
    return query if question.strip() in query else f"{question.strip()} {query}".strip()


def call_before(messages: Sequence[BaseMessage]) -> int | None:
    """Index of the newest model turn that called tools, None without one."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, AIMessage) and message.tool_calls:
            return index
    return None


def retrieve_again(
    messages: Sequence[BaseMessage], ask: str, verdict: Verdict, change: Requery
) -> tuple[Update, int] | None:
    """CRR (M1): the newest retrieval runs again with another query; what came after it goes.

    Returns:
        The update, and the index of the model turn that calls; None where nothing was retrieved.
    """
    index = call_before(messages)
    if index is None:
        return None
    turn = messages[index]
    assert isinstance(turn, AIMessage)
    calls = [
        {**call, "args": {k: _changed(v, ask, verdict, change) for k, v in call["args"].items()}}
        for call in turn.tool_calls
    ]
    again = turn.model_copy(update={"tool_calls": calls})
    return {"messages": [*_gone(messages[index + 1 :]), again], "jump_to": "tools"}, index


def roll_back(messages: Sequence[BaseMessage], keep: int, hint: str) -> Update:
    """PRR (M4): messages after the last clean stage go, a hint comes, the model acts again.

    With a checkpointer this is a new checkpoint; the ones before it stay, so the flagged state can be read.

    Args:
        messages: The graph's.
        keep: How many stay. Tool results that answer a kept call are kept with it.
        hint: What the model is told.
    """
    return {
        "messages": [*_gone(messages[keep:]), HumanMessage(hint, name="monitor")],
        "jump_to": "model",
    }


def marked(message: BaseMessage, verdict: Verdict, note: str = "") -> BaseMessage:
    """The message with the verdict beside it (``additional_kwargs``), and its text as it was.

    A note is for the reader of the conversation; it is added to the text.
    """
    told = {
        "charm": {
            "score": verdict.score,
            "action": verdict.action,
            "type": verdict.cascade_type,
            "reasons": list(verdict.reasons),
        }
    }
    update: dict[str, Any] = {"additional_kwargs": {**message.additional_kwargs, **told}}
    if note:
        update["content"] = f"{message.text}\n{note}".strip()
    return message.model_copy(update=update)


def by_decision(message: BaseMessage, decision: Decision, safe_answer: str) -> Update | None:
    """What a person's decision does to a message; None changes nothing (approved)."""
    if decision.kind == "approve":
        return None
    if decision.kind == "edit":
        return {"messages": [message.model_copy(update={"content": decision.text})]}
    if isinstance(message, AIMessage):
        withheld = message.model_copy(update={"content": safe_answer, "tool_calls": []})
        return {"messages": [withheld], "jump_to": "end"}
    return {"messages": [AIMessage(safe_answer)], "jump_to": "end"}


def _gone(messages: Sequence[BaseMessage]) -> list[RemoveMessage]:
    return [RemoveMessage(id=str(message.id)) for message in messages if message.id]


def _changed(value: Any, ask: str, verdict: Verdict, change: Requery) -> Any:
    return change(ask, value, verdict) if isinstance(value, str) else value


def hint(verdict: Verdict) -> str:
    """What the model is told after a rollback; no text of the pipeline is repeated in it."""
    told: Mapping[str, str] = {
        "retrieval": "the passages do not support what followed",
        "inference": "the last step does not follow from the passages",
        "poisoning": "a passage may be false; look for a second source",
        "inflation": "the last step was surer than its evidence",
    }
    reason = told.get(verdict.cascade_type, "the last step is not supported")
    return (
        f"A monitor stopped the last step: {reason}. Go on from the evidence above and say what is unknown."
    )

"""Every prompt of the ``llm`` policy, with its reply schema. :data:`DIGEST` is their version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faultline.chat.messages import Message, Request
from faultline.codec import key_of
from faultline.records import ActionKind, Hit, State

SYSTEM = (
    "You answer a question step by step with passages that a search tool returns. Use only what stands in "
    "the passages and the notes. If they do not say it, the answer is null. An answer is as short as can be: "
    "a name, a date, a number, yes or no."
)
TASKS: Mapping[ActionKind, str] = {
    "query": "Write one search query for the next fact that is needed to answer the question.",
    "read": (
        "Read what the search returned. In finding, say in one or two sentences what the passages say about "
        "what was looked up, and end with the value that was found. In answer, give that value alone."
    ),
    "reason": "In thought, say in one or two sentences what is known now and what must be looked up next.",
    "conclude": (
        "Answer the question. In conclusion, give the chain of facts in one to three sentences, the last of "
        "which states the answer. In answer, give the answer alone."
    ),
}
FIELDS: Mapping[ActionKind, tuple[str, bool]] = {
    "query": ("query", False),
    "read": ("finding", True),
    "reason": ("thought", False),
    "conclude": ("conclusion", True),
}
"""The field that goes on the record, and whether an answer stands beside it."""

PASSAGES, NOTES, STATEMENTS, THOUGHTS = "Passages:", "Notes:", "Also stated:", "So far:"


def request(kind: ActionKind, state: State) -> Request:
    """The rendered request for one action."""
    parts = [f"Question: {state.question}"]
    if state.task.plan:
        parts.append("Sub-questions:\n" + "\n".join(f"- {step}" for step in state.task.plan))
    if state.evidence and kind != "query":
        parts.append(
            f"{PASSAGES}\n" + "\n".join(_passage(n, hit) for n, hit in enumerate(union(state.evidence), 1))
        )
    if state.notes:
        parts.append(f"{NOTES}\n" + "\n".join(f"- {note or 'not found'}" for note in state.notes))
    if state.thoughts[1:]:
        # The first text is the top passage itself, which stands among the passages.
        parts.append(f"{THOUGHTS}\n" + "\n".join(f"- {text}" for text in state.thoughts[1:] if text))
    if state.hints:
        parts.append(f"{STATEMENTS}\n" + "\n".join(f"- {hint.text}" for hint in state.hints))
    if kind == "read" and state.query:
        parts.append(f"Looked up: {state.query}")
    parts.append(TASKS[kind])
    messages = (Message("system", SYSTEM), Message("user", "\n\n".join(parts)))
    return Request(messages, schema=schema(kind), sample=state.sample)


def schema(kind: ActionKind) -> dict[str, Any]:
    """The reply's JSON schema, in the subset that every provider's strict mode takes."""
    field, has_answer = FIELDS[kind]
    properties: dict[str, Any] = {field: {"type": "string"}}
    if has_answer:
        properties["answer"] = {"type": ["string", "null"]}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def union(evidence: Sequence[Sequence[Hit]]) -> list[Hit]:
    """All evidence, each content of a passage once, latest retrieval first, best first within one."""
    found: dict[tuple[str, str], Hit] = {}
    for hits in reversed(evidence):
        for hit in hits:
            found.setdefault((hit.passage.id, hit.passage.content_hash), hit)
    return list(found.values())


def _passage(number: int, hit: Hit) -> str:
    return f"[{number}] {hit.passage.rendered}"


DIGEST = key_of(
    [
        SYSTEM,
        dict(TASKS),
        {k: schema(k) for k in TASKS},
        PASSAGES,
        NOTES,
        STATEMENTS,
        THOUGHTS,
        "latest first",
    ]
)
"""Of everything above that a model reads; part of the key of its trajectories."""

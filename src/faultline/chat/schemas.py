"""Replies that must be JSON: parsed and checked, repaired once, then missing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
from jsonschema import Draft202012Validator

from faultline.chat.messages import Message, Request

_FENCED = re.compile(r"^\s*```(?:json)?\s*(.*?)\s*```\s*$", re.DOTALL)


def parse(text: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | str:
    """The object that a reply is, or what is wrong with it in one line.

    A code fence around it is taken off. Nothing else is: an object inside prose is not a reply that
    follows the schema.
    """
    fenced = _FENCED.match(text)
    try:
        data = orjson.loads(fenced.group(1) if fenced else text)
    except orjson.JSONDecodeError as error:
        return f"not JSON: {error}"
    problem = next(iter(Draft202012Validator(dict(schema)).iter_errors(data)), None)
    if problem is not None:
        where = "/".join(str(part) for part in problem.absolute_path)
        return f"{where + ': ' if where else ''}{problem.message}"
    if not isinstance(data, dict):
        return "not a JSON object"
    return data


def told(request: Request) -> Request:
    """The request with its schema written into the last user turn, for backends that cannot constrain."""
    assert request.schema is not None
    schema = orjson.dumps(dict(request.schema), option=orjson.OPT_SORT_KEYS).decode()
    *rest, last = request.messages
    text = f"{last.text}\n\nReply with one JSON object that follows this schema, and nothing else:\n{schema}"
    return replace(request, messages=(*rest, replace(last, text=text)))


def repair(request: Request, text: str, problem: str) -> Request:
    """The request that asks for the reply once more, with what was wrong."""
    ask = (
        f"That reply does not follow the schema ({problem}). Reply again with the corrected JSON object only."
    )
    return replace(request, messages=(*request.messages, Message("assistant", text), Message("user", ask)))

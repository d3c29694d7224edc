"""A backend without a model: replies are a fixed function of the request.

It exercises everything around a model (chain, memory, judges, stores) at full size and no cost. What it says
means nothing, so its rows carry ``backbone=scripted`` and stand for no language model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from faultline.chat.messages import Reply, Request, Usage
from faultline.codec import key_of
from faultline.stats import generator

NAME = "scripted"
HEDGES = ("", "It is important to note that this is not verified. ", "No evidence exists for this. ")
CLOSES = ("Therefore it stands.", "This suggests caution.", "The source is an assessment.")


class ScriptedBackend:
    """Answers with a text that repeats the last line asked, or with an object that follows the schema."""

    version = 1

    async def attempt(self, request: Request) -> Reply:
        """One reply; equal requests get equal replies."""
        rng = generator("scripted", key_of(request))
        asked = request.messages[-1].text
        text = _text(asked, int(rng.integers(3)), int(rng.integers(3)))
        if request.schema is not None:
            text = json.dumps(_object(request.schema, text, rng))
        words = sum(len(m.text.split()) for m in request.messages)
        return Reply(text, finish="stop", model=NAME, usage=Usage(words, len(text.split())))


def _text(asked: str, hedge: int, close: int) -> str:
    last = " ".join(asked.strip().splitlines()[-1].split()[:40]) if asked.strip() else ""
    return f"{HEDGES[hedge]}On the request: {last} {CLOSES[close]}"


def _object(schema: Mapping[str, Any], text: str, rng: Any) -> Any:
    kind = schema.get("type")
    if kind == "object":
        return {name: _object(part, text, rng) for name, part in schema.get("properties", {}).items()}
    if "enum" in schema:
        return schema["enum"][int(rng.integers(len(schema["enum"])))]
    if kind == "number":
        return round(float(rng.uniform(schema.get("minimum", 0.0), schema.get("maximum", 1.0))), 2)
    if kind == "integer":
        return int(rng.integers(schema.get("minimum", 0), schema.get("maximum", 10) + 1))
    if kind == "boolean":
        return bool(rng.integers(2))
    return text

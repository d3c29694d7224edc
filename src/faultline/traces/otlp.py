"""OpenTelemetry GenAI spans in OTLP JSON (one document, or one a line as the file exporter writes them).

Attributes as in the GenAI semantic conventions: ``gen_ai.operation.name``, ``gen_ai.input.messages``,
``gen_ai.output.messages``, ``gen_ai.tool.call.*``, ``gen_ai.retrieval.*``; content must have been recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from faultline.traces.steps import Step, Traces, content_text, mappings, parsed_json, passages

MODEL = ("chat", "text_completion", "generate_content")
EVIDENCE = ("execute_tool", "retrieval")
CONTAINERS = ("invoke_agent", "create_agent", "invoke_workflow", "embeddings", "plan")


def read(text: str, source: str) -> Traces:
    """One trajectory a trace id, spans in the order in which they ended; unknown spans are problems."""
    found = Traces()
    traces: dict[str, list[Mapping[str, Any]]] = {}
    for span in _spans(text, found):
        name = span.get("spanId")
        if not isinstance(name, str) or not isinstance(span.get("traceId"), str):
            found.problem(name or "span", "has no spanId or no traceId")
            continue
        traces.setdefault(str(span["traceId"]), []).append(span)
    for trace, spans in traces.items():
        _trajectory(trace, sorted(spans, key=_ended), found, source)
    return found


def _trajectory(trace: str, spans: Sequence[Mapping[str, Any]], found: Traces, source: str) -> None:
    steps: list[Step] = []
    question, backbone = "", "unknown"
    for span in spans:
        name, told = str(span["spanId"]), attributes(span)
        operation = told.get("gen_ai.operation.name")
        if operation is None and not any(key.startswith("gen_ai.") for key in told):
            # Databases, web requests, frameworks: no part of the trajectory, but said.
            found.problem(name, f"span {span.get('name', '')!r} of trace {trace} is no GenAI span")
            continue
        question = question if question else _question(told) or question
        backbone = str(told.get("gen_ai.response.model") or told.get("gen_ai.request.model") or backbone)
        if operation in CONTAINERS:
            continue
        step = _step(name, operation, told)
        if isinstance(step, str):
            found.problem(name, step)
            continue
        steps.append(step)
    if steps:
        found.add(trace, question, steps, None, backbone, source)
    else:
        found.problem(trace, "no span of the trace could be used")


def _step(name: str, operation: Any, told: Mapping[str, Any]) -> Step | str:
    if operation in MODEL:
        content = told.get("gen_ai.output.messages", told.get("gen_ai.completion"))
        if content is None:
            return "gen_ai.output.messages is absent: the content of replies was not recorded"
        return Step(name, False, _reply(content))
    if operation == "execute_tool":
        result = told.get("gen_ai.tool.call.result")
        if result is None:
            return "gen_ai.tool.call.result is absent: the content of tool calls was not recorded"
        return Step(
            name, True, query=_arguments(told.get("gen_ai.tool.call.arguments")), passages=passages(result)
        )
    if operation == "retrieval":
        documents = told.get("gen_ai.retrieval.documents")
        if documents is None:
            return "gen_ai.retrieval.documents is absent: what was retrieved was not recorded"
        query = told.get("gen_ai.retrieval.query.text")
        return Step(name, True, query=str(query or ""), passages=passages(documents))
    return f"gen_ai.operation.name {operation!r} is unknown"


def _spans(text: str, found: Traces) -> Iterator[Mapping[str, Any]]:
    whole = parsed_json(text)
    lines = (
        [whole] if whole is not None else [parsed_json(line) for line in text.splitlines() if line.strip()]
    )
    for number, document in enumerate(lines, start=1):
        if not isinstance(document, Mapping) or not isinstance(document.get("resourceSpans"), list):
            found.problem(f"line {number}", "is no OTLP document (resourceSpans)")
            continue
        for resource in mappings(document["resourceSpans"]):
            for scope in mappings(resource.get("scopeSpans")):
                yield from mappings(scope.get("spans"))


def attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of a span as plain values."""
    return {
        str(a.get("key")): value(a["value"])
        for a in mappings(span.get("attributes"))
        if isinstance(a.get("value"), Mapping)
    }


def value(any_value: Mapping[str, Any]) -> Any:
    """An OTLP AnyValue as a plain value (64-bit integers stand as text in OTLP JSON)."""
    if "intValue" in any_value:
        try:
            return int(any_value["intValue"])
        except (TypeError, ValueError):
            return None
    if "arrayValue" in any_value:
        inner = any_value["arrayValue"]
        return [value(v) for v in mappings(inner.get("values") if isinstance(inner, Mapping) else [])]
    if "kvlistValue" in any_value:
        inner = any_value["kvlistValue"]
        pairs = mappings(inner.get("values") if isinstance(inner, Mapping) else [])
        return {str(p.get("key")): value(p["value"]) for p in pairs if isinstance(p.get("value"), Mapping)}
    for key in ("stringValue", "doubleValue", "boolValue"):
        if key in any_value:
            return any_value[key]
    return None


def _messages(content: Any) -> list[Mapping[str, Any]]:
    parsed = parsed_json(content) if isinstance(content, str) else content
    return list(mappings(parsed if isinstance(parsed, list) else [parsed]))


def _reply(content: Any) -> str:
    texts = [content_text(m.get("parts", m.get("content"))) for m in _messages(content)]
    if not any(texts) and isinstance(content, str) and parsed_json(content) is None:
        return content  # the deprecated gen_ai.completion may be plain text
    return "\n".join(text for text in texts if text)


def _question(told: Mapping[str, Any]) -> str:
    users = [
        content_text(m.get("parts", m.get("content")))
        for m in _messages(told.get("gen_ai.input.messages"))
        if m.get("role") == "user"
    ]
    return users[-1] if users else ""


def _arguments(given: Any) -> str:
    parsed = parsed_json(given) if isinstance(given, str) else given
    if isinstance(parsed, Mapping):
        return " ".join(str(v) for v in parsed.values())
    return str(given or "")


def _ended(span: Mapping[str, Any]) -> int:
    try:
        return int(span.get("endTimeUnixNano") or span.get("startTimeUnixNano") or 0)
    except (TypeError, ValueError):
        return 0

"""LangSmith run exports: a JSON list, JSON Lines, or runs nested by ``child_runs``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from faultline.traces.steps import Step, Traces, content_text, mappings, parsed_json, passages

CONTAINERS = ("chain", "prompt", "parser", "embedding")


def read(text: str, source: str) -> Traces:
    """One trajectory a root run; runs that failed or hold no content are problems, by id."""
    found = Traces()
    runs = list(_runs(text, found))
    parents = {str(run["id"]): run.get("parent_run_id") for run in runs}
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        root = str(run.get("trace_id") or _root(str(run["id"]), parents))
        groups.setdefault(root, []).append(run)
    for root, group in groups.items():
        _trajectory(root, sorted(group, key=lambda r: str(r.get("end_time") or "")), found, source)
    return found


def _trajectory(root: str, runs: Sequence[Mapping[str, Any]], found: Traces, source: str) -> None:
    steps, question, backbone = [], "", "unknown"
    inside = {str(r["id"]) for r in runs if r.get("run_type") == "tool"}
    for run in runs:
        name, kind = str(run["id"]), run.get("run_type")
        if not question or name == root:
            question = _question(run.get("inputs")) or question
        if kind in CONTAINERS or str(run.get("parent_run_id")) in inside:
            continue  # what happens inside a tool is the tool's
        if run.get("error"):
            found.problem(name, f"run {run.get('name', '')!r} failed, it has no output")
            continue
        step = _step(name, kind, run)
        if isinstance(step, str):
            found.problem(name, step)
            continue
        if not step.retrieves:
            backbone = _model(run) or backbone
        steps.append(step)
    if steps:
        found.add(root, question, steps, None, backbone, source)
    else:
        found.problem(root, "no run of the trace could be used")


def _step(name: str, kind: Any, run: Mapping[str, Any]) -> Step | str:
    outputs = run.get("outputs")
    if not isinstance(outputs, Mapping):
        return "field outputs: is no object"
    if kind == "llm":
        return Step(name, False, _reply(outputs))
    if kind in ("retriever", "tool"):
        inputs = run.get("inputs")
        given = inputs if isinstance(inputs, Mapping) else {}
        brought = outputs.get("documents", outputs.get("output", outputs.get("content")))
        if isinstance(brought, Mapping):  # a tool message
            inner = brought.get("kwargs", brought)
            brought = inner.get("content") if isinstance(inner, Mapping) else None
        query = given.get("query", given.get("input", ""))
        return Step(name, True, query=str(query or ""), passages=passages(brought))
    return f"field run_type: {kind!r} is unknown"


def _runs(text: str, found: Traces) -> Iterator[Mapping[str, Any]]:
    whole = parsed_json(text)
    if isinstance(whole, Mapping):
        listed: list[Any] = whole["runs"] if isinstance(whole.get("runs"), list) else [whole]
    elif isinstance(whole, list):
        listed = whole
    else:
        listed = [parsed_json(line) for line in text.splitlines() if line.strip()]
    stack = [(f"run {i}", run) for i, run in enumerate(listed, start=1)][::-1]
    while stack:
        where, run = stack.pop()
        if not isinstance(run, Mapping) or not run.get("id"):
            found.problem(where, "is no run with an id")
            continue
        yield run
        children = run.get("child_runs") if isinstance(run.get("child_runs"), list) else []
        for child in children or []:
            known = {"parent_run_id": run["id"], **child} if isinstance(child, Mapping) else child
            stack.append((f"child of {run['id']}", known))


def _root(name: str, parents: Mapping[str, Any]) -> str:
    seen = {name}
    while parents.get(name) is not None and str(parents[name]) in parents:
        name = str(parents[name])
        if name in seen:
            break  # a loop of parents: its members are one trace
        seen.add(name)
    return name


def _reply(outputs: Mapping[str, Any]) -> str:
    generations = outputs.get("generations")
    if isinstance(generations, list):
        flat = [g for row in generations for g in (row if isinstance(row, list) else [row])]
        for generation in mappings(flat):
            message = generation.get("message")
            text = _message_text(message) if isinstance(message, Mapping) else ""
            return text or str(generation.get("text") or "")
    for key in ("messages", "choices"):
        for item in mappings(outputs.get(key)):
            inner = item.get("message", item)
            text = _message_text(inner) if isinstance(inner, Mapping) else ""
            if text:
                return text
    output = outputs.get("output", outputs.get("content"))
    return content_text(output) if not isinstance(output, Mapping) else _message_text(output)


def _message_text(message: Mapping[str, Any]) -> str:
    inner = message.get("kwargs", message)
    return content_text(inner.get("content")) if isinstance(inner, Mapping) else ""


def _question(inputs: Any) -> str:
    if not isinstance(inputs, Mapping):
        return ""
    for key in ("question", "input", "query"):
        if isinstance(inputs.get(key), str) and inputs[key].strip():
            return str(inputs[key])
    rows = inputs.get("messages")
    flat = (
        [m for row in rows for m in (row if isinstance(row, list) else [row])]
        if isinstance(rows, list)
        else []
    )
    for message in reversed(list(mappings(flat))):
        kind = message.get("role", message.get("type"))
        name = message.get("id")
        human = kind in ("user", "human") or (isinstance(name, list) and "HumanMessage" in name)
        if human:
            return _message_text(message)
    return ""


def _model(run: Mapping[str, Any]) -> str:
    extra = run.get("extra")
    metadata = extra.get("metadata") if isinstance(extra, Mapping) else None
    return str(metadata.get("ls_model_name") or "") if isinstance(metadata, Mapping) else ""

"""One attempt at one request, through LangChain's chat models."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from faultline.chat import failures
from faultline.chat.messages import Message, Reply, Request, TokenLogprob, ToolCall, Usage
from faultline.chat.spec import CallSettings, ChatSpec
from faultline.errors import Missing, ModelError

_FINISH = ("finish_reason", "stop_reason", "done_reason")
_TRUNCATED = ("length", "max_tokens", "model_context_window_exceeded")
_REFUSED = ("content_filter", "refusal")


class Backend(Protocol):
    """Answers one request, once."""

    async def attempt(self, request: Request) -> Reply | failures.Again:
        """A reply (possibly a typed failure), or that another attempt is worth it."""
        ...


class LangChainBackend:
    """Any provider of :class:`ChatSpec`; its client never retries, that is done in one place.

    Args:
        spec: The model.
        calls: For the timeout.
        base_url: Of a server that was started for it; else the specification's.

    Raises:
        ModelError: The key is not set, or the provider's package is not installed.
    """

    def __init__(self, spec: ChatSpec, calls: CallSettings, base_url: str = "") -> None:
        self._spec = spec
        self._timeout_s = calls.timeout_s
        self._errors = failures.provider_errors(_client_of(spec))
        self._model = _build(spec, calls, base_url or spec.base_url)

    async def attempt(self, request: Request) -> Reply | failures.Again:
        """One call.

        Raises:
            ModelError: What no further attempt and no other request would change. The provider's own
                exception is left out of the chain, since servers repeat keys in their messages.
        """
        model = self._model.bind_tools([_tool(t) for t in request.tools]) if request.tools else self._model
        outcome: failures.Again | Missing | ModelError
        try:
            # The client's own timeout is per read: a server that drips would never meet it.
            async with asyncio.timeout(self._timeout_s):
                message = await model.ainvoke(
                    [_message(m) for m in request.messages], **_options(self._spec, request)
                )
        except TimeoutError:
            outcome = failures.Again("timeout", timeout=True)
        except self._errors as error:
            outcome = failures.classify(error, self._spec)
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            outcome = ModelError(
                f"chat model {self._spec.model}: the server's reply is not in the wire format of "
                f"{self._spec.provider} ({failures.scrub(str(error), self._spec)[:200]}); check chat.base_url"
            )
        else:
            return _reply(message)
        if isinstance(outcome, ModelError):
            raise outcome
        return Reply("", missing=outcome, finish="error") if isinstance(outcome, Missing) else outcome


def _client_of(spec: ChatSpec) -> str:
    return "openai" if spec.provider in ("openai", "openai_compatible", "local") else spec.provider


def _build(spec: ChatSpec, calls: CallSettings, base_url: str) -> Any:
    key = spec.key()
    from langchain.chat_models import init_chat_model

    client = _client_of(spec)
    told: dict[str, Any] = {"temperature": spec.temperature, "top_p": spec.top_p}
    if client == "ollama":
        told |= {"client_kwargs": {"timeout": calls.timeout_s}, "base_url": base_url or None}
    else:
        told |= {"max_tokens": spec.max_tokens, "timeout": calls.timeout_s, "max_retries": 0}
        told |= {"base_url": base_url or None}
    if client == "openai":
        told |= {"api_key": key or "none", "use_responses_api": False}
    elif client == "anthropic":
        told["api_key"] = key
    if spec.logprobs:
        told |= {"logprobs": True, "top_logprobs": spec.top_logprobs}
    told |= dict(spec.extra)
    try:
        return init_chat_model(
            spec.model, model_provider=client, **{k: v for k, v in told.items() if v is not None}
        )
    except ImportError as error:
        raise ModelError(f"chat model {spec.model}: {error}; install faultline[llm]") from error


def _options(spec: ChatSpec, request: Request) -> dict[str, Any]:
    """What is sent with this request only: schema and seed."""
    client = _client_of(spec)
    told: dict[str, Any] = {}
    seed = None if spec.seed is None else spec.seed + request.sample
    if client == "ollama":
        told["options"] = _ollama_options(spec, seed)
    elif client == "openai" and seed is not None:
        told["seed"] = seed
    if request.schema is None or spec.structured != "native":
        return told
    schema = dict(request.schema)
    if client == "anthropic":
        return {**told, "output_config": {"format": {"type": "json_schema", "schema": schema}}}
    if client == "ollama":
        return {**told, "format": schema}
    # As a part of the body: named as an argument, the client would parse the reply and hide a cut one.
    wanted = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}
    return {**told, "extra_body": {"response_format": wanted}}


def _ollama_options(spec: ChatSpec, seed: int | None) -> dict[str, Any]:
    """Every sampling option, since options of a request replace those of the client."""
    told = {"temperature": spec.temperature, "top_p": spec.top_p, "num_predict": spec.max_tokens}
    told |= {"num_ctx": spec.num_ctx, "seed": seed, **spec.extra}
    return {name: value for name, value in told.items() if value is not None}


def _message(message: Message) -> Any:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    if message.role == "system":
        return SystemMessage(message.text)
    if message.role == "user":
        return HumanMessage(message.text)
    if message.role == "tool":
        return ToolMessage(message.text, tool_call_id=message.tool_call_id)
    calls = [{"id": c.id, "name": c.name, "args": dict(c.arguments)} for c in message.tool_calls]
    return AIMessage(message.text, tool_calls=calls)


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": dict(tool)}


def _reply(message: Any) -> Reply:
    metadata: Mapping[str, Any] = message.response_metadata
    finish = str(next((metadata[name] for name in _FINISH if metadata.get(name)), ""))
    usage = message.usage_metadata or {}
    refusal = message.additional_kwargs.get("refusal")
    missing = (
        Missing.REFUSED
        if refusal or finish in _REFUSED
        else Missing.TRUNCATED
        if finish in _TRUNCATED
        else Missing.PARSE_ERROR
        if message.invalid_tool_calls
        else None
    )
    return Reply(
        text=str(refusal or message.text),
        missing=missing,
        finish=finish,
        model=str(metadata.get("model_name") or metadata.get("model") or ""),
        usage=Usage(usage.get("input_tokens"), usage.get("output_tokens")),
        logprobs=_logprobs(metadata.get("logprobs")),
        tool_calls=tuple(ToolCall(str(c["id"] or ""), c["name"], c["args"]) for c in message.tool_calls),
    )


def _logprobs(told: Any) -> tuple[TokenLogprob, ...]:
    """OpenAI's shape is ``{"content": [...]}``, Ollama's is the list."""
    entries = told.get("content") if isinstance(told, Mapping) else told
    found = []
    for entry in entries or ():
        raw = entry.get("bytes")
        piece = bytes(raw) if raw is not None else str(entry["token"]).encode()
        found.append(TokenLogprob(piece.hex(), float(entry["logprob"])))
    return tuple(found)

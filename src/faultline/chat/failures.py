"""What a failed call means: try again, a typed reason for this request, or stop the run with one line."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from faultline.chat.spec import ChatSpec
from faultline.errors import Missing, ModelError

_REFUSED = ("content_filter", "content_policy_violation", "responsibleaipolicyviolation")
_TOO_LONG = (
    "context_length_exceeded",
    "exceed_context_size",
    "prompt is too long",
    "maximum context length",
)


@dataclass(frozen=True, slots=True)
class Again:
    """Worth another attempt.

    Attributes:
        timeout: Whether it was one: the only kind that becomes a missing value when attempts run out.
        after_s: The server's Retry-After.
    """

    why: str
    timeout: bool = False
    after_s: float | None = None


def provider_errors(provider: str) -> tuple[type[Exception], ...]:
    """The exceptions that a call through a provider's client may raise."""
    if provider == "anthropic":
        import anthropic

        return (anthropic.AnthropicError, httpx.HTTPError)
    if provider == "ollama":
        import ollama

        return (ollama.ResponseError, ollama.RequestError, httpx.HTTPError, ConnectionError)
    import openai

    return (openai.OpenAIError, httpx.HTTPError)


def classify(error: Exception, spec: ChatSpec) -> Again | Missing | ModelError:
    """What to do about an exception of :func:`provider_errors`."""
    status = getattr(error, "status_code", None)
    name = type(error).__name__
    if isinstance(error, httpx.TimeoutException) or "Timeout" in name:
        return Again("timeout", timeout=True)
    if status is None:
        if "Connect" in name or isinstance(error, httpx.TransportError | ConnectionError):
            return Again(f"no connection to {spec.base_url or spec.provider}")
        return ModelError(f"chat model {spec.model}: {scrub(str(error), spec)}")
    if status in (408, 409, 429) or status >= 500:
        headers = getattr(getattr(error, "response", None), "headers", {})
        return Again(f"HTTP {status}", after_s=retry_after(headers, time.time()))
    text = scrub(str(error), spec)
    if status in (400, 413, 422):
        if any(word in text.lower() for word in _REFUSED):
            return Missing.REFUSED
        if status == 413 or any(word in text.lower() for word in _TOO_LONG):
            return Missing.TRUNCATED
    remedy = {401: "check the key in", 403: "check the rights of the key in", 404: "check chat.model for"}
    hint = f"; {remedy[status]} {spec.key_env or 'the server'}" if status in remedy else ""
    return ModelError(f"chat model {spec.model}: HTTP {status}, {text[:300]}{hint}")


def retry_after(headers: Mapping[str, Any], now: float) -> float | None:
    """Seconds to wait as the server says: ``retry-after-ms``, seconds, or an HTTP date (RFC 9110, 10.2.3)."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        try:
            return max(0.0, float(value))
        except ValueError:
            return max(0.0, email.utils.parsedate_to_datetime(str(value)).timestamp() - now)
    except (TypeError, ValueError):
        return None


def scrub(text: str, spec: ChatSpec) -> str:
    """A message in one line without the key: servers repeat it in their errors."""
    line = " ".join(text.split())
    key = spec.key() if spec.key_env else None
    return line.replace(key, "[key]") if key else line

"""Which chat model, and how it is sampled."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from faultline.errors import ConfigError, ModelError

PROVIDERS = ("openai", "openai_compatible", "anthropic", "ollama", "local", "scripted")
STRUCTURED = ("native", "prompt")


@dataclass(frozen=True, slots=True)
class ChatSpec:
    """A chat model as ``conf/chat`` names it.

    Attributes:
        provider: One of :data:`PROVIDERS`; ``local`` is a server that we start in the process,
            ``scripted`` is no model.
        model: The provider's name of it, with its date where it has one.
        base_url: Server; empty for the provider's own, required for ``openai_compatible``.
        key_env: Environment variable that holds the key; empty where none is needed.
        temperature: 0 is the most likely token.
        top_p: None leaves the backend's default.
        max_tokens: Bound of one reply.
        seed: Sent where the backend takes one, plus the sample index; None sends none.
        logprobs: Ask for log-probabilities of the generated tokens.
        top_logprobs: Alternatives a token, None for none.
        structured: ``native`` (the backend constrains the reply to the schema) or ``prompt`` (told only).
        num_ctx: Context window, where the client sets it (Ollama, local).
        package: ``package:file`` that carries the weights of a local model.
        path: GGUF file of a local model; if given, nothing else is tried.
        threads: Of the local server. Other thread counts may move the last bits.
    """

    provider: str
    model: str
    base_url: str = ""
    key_env: str = ""
    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int = 256
    seed: int | None = None
    logprobs: bool = False
    top_logprobs: int | None = None
    structured: str = "native"
    num_ctx: int | None = None
    package: str = ""
    path: str = ""
    threads: int = 2
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.provider not in PROVIDERS:
            raise ConfigError(f"chat.provider={self.provider}: choose one of {', '.join(PROVIDERS)}")
        if self.structured not in STRUCTURED:
            raise ConfigError(f"chat.structured={self.structured}: choose one of {', '.join(STRUCTURED)}")
        if self.max_tokens < 1:
            raise ConfigError(f"chat.max_tokens={self.max_tokens}: must be at least 1")
        if self.temperature is not None and self.temperature < 0:
            raise ConfigError(f"chat.temperature={self.temperature}: must not be negative")
        if self.provider == "openai_compatible" and not self.base_url:
            raise ConfigError(
                "chat.base_url: an openai_compatible server needs its URL (http://host:port/v1)"
            )

    def identity(self, digest: str = "") -> dict[str, Any]:
        """What a reply depends on: everything but where the key and the weights are found.

        Args:
            digest: sha256 of the weights, where they are ours to read.
        """
        told = {k: v for k, v in asdict(self).items() if k not in ("key_env", "package", "path")}
        return {**told, "digest": digest}

    def key(self) -> str | None:
        """The API key from the environment; None where the model needs none.

        Raises:
            ModelError: The variable is not set.
        """
        if not self.key_env:
            return None
        value = os.environ.get(self.key_env)
        if not value:
            raise ModelError(f"chat model {self.model}: set {self.key_env} in the environment")
        return value


@dataclass(frozen=True, slots=True)
class CallSettings:
    """How calls are made; no product depends on it.

    Attributes:
        concurrency: Calls in flight at once.
        timeout_s: Of one attempt.
        retries: Further attempts after 429, 5xx, a broken connection or a timeout.
        backoff_s: First backoff; it doubles, with full jitter.
        max_backoff_s: Bound of one backoff.
        max_wait_s: A Retry-After above it stops the run (it can be resumed).
    """

    concurrency: int = 8
    timeout_s: float = 120.0
    retries: int = 5
    backoff_s: float = 0.5
    max_backoff_s: float = 30.0
    max_wait_s: float = 120.0

    def __post_init__(self) -> None:
        for name in ("concurrency", "timeout_s", "max_backoff_s", "max_wait_s"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"calls.{name}={getattr(self, name)}: must be above 0")
        if self.retries < 0 or self.backoff_s < 0:
            raise ConfigError(
                f"calls.retries={self.retries}, backoff_s={self.backoff_s}: must not be negative"
            )

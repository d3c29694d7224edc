"""Embeddings of an API (paper 1: text-embedding-3-small), cached on disk, under the limits of chat calls."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from faultline.chat import failures
from faultline.chat.client import on_loop
from faultline.chat.retries import Limiter
from faultline.chat.spec import CallSettings, ChatSpec
from faultline.errors import Missing, ModelError
from faultline.inference.cache import ScoreCache

BATCH = 128
"""Texts a request."""


class ApiEmbedder:
    """Implements :class:`faultline.records.Embedder` over OpenAI's embeddings endpoint.

    Args:
        model: The provider's name.
        base_url: Another server of the same API; empty for OpenAI's own.
        key_env: Environment variable of the key; empty where none is needed.
        cache: Score cache.
        calls: Limits and retries.

    Raises:
        ModelError: The key is not set.
    """

    def __init__(self, model: str, base_url: str, key_env: str, cache: Path, calls: CallSettings) -> None:
        from langchain_openai import OpenAIEmbeddings

        self.digest = f"api:{model}"
        # The specification is only for its key and messages; nothing is sampled.
        self._spec = ChatSpec("openai", model, base_url=base_url, key_env=key_env)
        self._namespace = f"embed/{self.digest}@{base_url or 'openai'}"
        self._cache = ScoreCache(cache)
        self._limiter = Limiter(calls, model)
        self._errors = failures.provider_errors("openai")
        told: dict[str, Any] = {"base_url": base_url} if base_url else {}
        # The length check would fetch a tokenizer file; a text that is too long is the server's error.
        self._model = OpenAIEmbeddings(
            model=model,
            api_key=self._spec.key() or "none",  # type: ignore[arg-type]
            max_retries=0,
            timeout=calls.timeout_s,
            check_embedding_ctx_length=False,
            chunk_size=BATCH,
            **told,
        )

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Rows of unit length, shape (n, d).

        Raises:
            ModelError: The server cannot be used, or a text is too long for it.
        """
        keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        known = self._cache.get_many(self._namespace, list(dict.fromkeys(keys)))
        wanted = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if wanted:
            fresh = dict(zip(wanted, on_loop(self._all(list(wanted.values()))), strict=True))
            self._cache.put_many(self._namespace, fresh)
            known.update(fresh)
        rows = np.stack([known[key] for key in keys])
        unit: npt.NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    async def _all(self, texts: list[str]) -> list[npt.NDArray[np.float32]]:
        parts = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        found = await asyncio.gather(*(self._part(part) for part in parts))
        return [np.asarray(row, dtype=np.float32) for rows in found for row in rows]

    async def _part(self, texts: list[str]) -> list[list[float]]:
        rows = await self._limiter.call(lambda: self._attempt(texts), texts[0])
        if isinstance(rows, Missing):
            raise ModelError(f"embedding model {self._spec.model}: {rows}; repeat the command later")
        return rows

    async def _attempt(self, texts: list[str]) -> list[list[float]] | failures.Again:
        try:
            return await self._model.aembed_documents(texts)
        except self._errors as error:
            outcome = failures.classify(error, self._spec)
        if isinstance(outcome, failures.Again):
            return outcome
        # Outside the handler: a provider's exception may repeat the key.
        told = f"a text is {outcome}" if isinstance(outcome, Missing) else str(outcome)
        raise ModelError(f"embedding model {self._spec.model}: {told}")

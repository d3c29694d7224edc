"""The seam: cache, budget, limits, backend and schema behind one question."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

from faultline.chat import budget as money
from faultline.chat import schemas
from faultline.chat.backends import Backend
from faultline.chat.budget import Budget
from faultline.chat.messages import Reply, Request
from faultline.chat.reply_cache import KEY_LENGTH, MODES, ReplyCache
from faultline.chat.retries import Limiter
from faultline.chat.spec import CallSettings, ChatSpec
from faultline.codec import key_of
from faultline.errors import ConfigError, Missing, StoreError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """``use`` what is there; ``refresh`` asks again once a process; ``replay`` stops at what is not there."""

    store: ReplyCache | None = None
    mode: str = "use"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(f"cache={self.mode}: choose one of {', '.join(MODES)}")
        if self.mode == "replay" and self.store is None:
            raise ConfigError("cache=replay: there is no reply cache")


class ChatClient:
    """Asks one chat model.

    Args:
        spec: The model.
        backend: Makes one attempt.
        digest: sha256 of local weights, empty for a remote model.
        calls: Limits and retries.
        cached: The reply cache.
        budget: What a run may spend; None for no bound.
    """

    def __init__(
        self,
        spec: ChatSpec,
        backend: Backend,
        digest: str = "",
        calls: CallSettings | None = None,
        cached: CachePolicy | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.spec = spec
        self.identity = spec.identity(digest)
        self.budget = budget or Budget(None, None, None, spec.max_tokens)
        self._backend = backend
        self._cached = cached or CachePolicy()
        self._limiter = Limiter(calls or CallSettings(), spec.model)
        self._flying: dict[str, asyncio.Future[Reply]] = {}
        self._fresh: set[str] = set()

    def ask(self, request: Request) -> Reply:
        """The reply, from any thread; counted in the meter of the calling thread."""
        reply = on_loop(self.reply(request))
        money.record(reply)
        return reply

    def ask_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Replies in the order of the requests, asked side by side.

        Raises:
            FaultlineError: What stopped the first of them that failed; the others are finished and cached.
        """

        async def all_of_them() -> list[Reply | BaseException]:
            return await asyncio.gather(*(self.reply(r) for r in requests), return_exceptions=True)

        outcomes = on_loop(all_of_them())
        replies: list[Reply] = []
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
            replies.append(outcome)
        for reply in replies:
            money.record(reply)
        return replies

    async def reply(self, request: Request) -> Reply:
        """The reply to a request; with a schema, parsed, repaired once, or ``parse_error``.

        Raises:
            ModelError: The model cannot be used at all.
            BudgetError: The call could overspend the budget.
            StoreError: ``cache=replay`` does not hold the reply.
        """
        if request.schema is None:
            return await self._single(request)
        sent = request if self.spec.structured == "native" else schemas.told(request)
        first = await self._single(sent)
        if first.missing is not None:
            return first
        data = schemas.parse(first.text, request.schema)
        if not isinstance(data, str):
            return replace(first, data=data)
        again = schemas.repair(sent, first.text, data)
        second = await self._single(again)
        both = replace(
            second,
            usage=first.usage + second.usage,
            calls=first.calls + second.calls,
            cached=first.cached and second.cached,
        )
        if second.missing is not None:
            return both
        data = schemas.parse(second.text, request.schema)
        return (
            replace(both, missing=Missing.PARSE_ERROR) if isinstance(data, str) else replace(both, data=data)
        )

    async def _single(self, request: Request) -> Reply:
        """One reply, from the cache, from a call in flight for the same key, or from the model."""
        asked = {"model": self.identity, "request": request}
        key = key_of(asked, KEY_LENGTH)
        found = self._lookup(key)
        if found is not None:
            return replace(found, cached=True)
        if key in self._flying:
            return replace(await asyncio.shield(self._flying[key]), cached=True)
        flying: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._flying[key] = flying
        try:
            reply = await self._paid(request, key)
            reply = self._stored(key, asked, reply)
        except BaseException as error:
            flying.set_exception(error)
            flying.exception()  # whoever waits gets it; nobody waiting is no reason to complain
            raise
        finally:
            del self._flying[key]
        flying.set_result(reply)
        return reply

    def _lookup(self, key: str) -> Reply | None:
        store, mode = self._cached.store, self._cached.mode
        if store is None or (mode == "refresh" and key not in self._fresh):
            return None
        found = store.get(key)
        if found is None and mode == "replay":
            raise StoreError(
                f"cache=replay: {store.path} holds no reply of {self.spec.model} under {key}; "
                f"use cache=use to ask for it"
            )
        return found

    async def _paid(self, request: Request, key: str) -> Reply:
        held = self.budget.hold(request)
        usage = None
        try:
            outcome = await self._limiter.call(lambda: self._backend.attempt(request), key)
            reply = Reply("", missing=outcome, finish="timeout") if isinstance(outcome, Missing) else outcome
            usage = reply.usage
        finally:
            self.budget.settle(held, usage)
        return reply

    def _stored(self, key: str, asked: dict[str, Any], reply: Reply) -> Reply:
        """Keep what the model said; a timeout is not something it said."""
        store = self._cached.store
        if store is None or reply.missing is Missing.TIMEOUT:
            return reply
        self._fresh.add(key)
        return store.put(key, self.spec.model, asked, reply, replace=self._cached.mode == "refresh")


def on_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the process's own event loop thread, and wait for it."""
    with _starting:  # a cached function may run twice when threads race for its first call
        loop = _loop()
    return asyncio.run_coroutine_threadsafe(work, loop).result()


_starting = threading.Lock()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="faultline-chat", daemon=True).start()
    return loop

"""Bounded concurrency and retries: a call that waits for its next attempt holds no slot."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from faultline.chat.failures import Again
from faultline.chat.spec import CallSettings
from faultline.errors import Missing, ModelError
from faultline.stats import generator

T = TypeVar("T")
Attempt = Callable[[], Awaitable[T | Again]]
Sleep = Callable[[float], Awaitable[None]]


def wait_s(attempt: int, after_s: float | None, draw: float, settings: CallSettings) -> float:
    """Seconds before the next attempt.

    Args:
        attempt: Failed attempts so far, from 1.
        after_s: The server's Retry-After: never undercut, jittered upwards by up to one first backoff.
        draw: Uniform in [0, 1): full jitter, so that calls that failed together do not return together.
        settings: Backoff.
    """
    if after_s is not None:
        return after_s + draw * settings.backoff_s
    return draw * min(settings.max_backoff_s, settings.backoff_s * 2.0 ** (attempt - 1))


class Limiter:
    """At most ``concurrency`` attempts at once.

    Args:
        settings: Limits.
        name: The model, for messages.
        sleep: Replaced in tests.
    """

    def __init__(self, settings: CallSettings, name: str, sleep: Sleep = asyncio.sleep) -> None:
        self._settings = settings
        self._name = name
        self._sleep = sleep
        self._slots = asyncio.Semaphore(settings.concurrency)

    async def call(self, attempt: Attempt[T], key: str) -> T | Missing:
        """Attempt until it works.

        Args:
            attempt: One attempt.
            key: Of the request; seeds the jitter.

        Returns:
            The result, or ``timeout`` if the last attempt timed out.

        Raises:
            ModelError: The server is still busy, broken or away, or asks for too long a wait.
        """
        last = Again("not attempted")
        for number in range(1, self._settings.retries + 2):
            async with self._slots:
                result = await attempt()
            if not isinstance(result, Again):
                return result
            last = result
            after = result.after_s
            if after is not None and after > self._settings.max_wait_s:
                raise ModelError(
                    f"chat model {self._name}: {result.why}, asks to wait {after:.0f} s (calls.max_wait_s="
                    f"{self._settings.max_wait_s:g}); repeat the command later, finished work is kept"
                )
            if number <= self._settings.retries:
                draw = float(generator(key, "backoff", number).random())
                await self._sleep(wait_s(number, after, draw, self._settings))
        if last.timeout:
            return Missing.TIMEOUT
        raise ModelError(
            f"chat model {self._name}: {last.why} after {self._settings.retries + 1} attempts; "
            f"repeat the command when the server answers, finished work is kept"
        )

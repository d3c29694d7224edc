"""Backoff by hand, Retry-After in its three forms."""

from __future__ import annotations

import email.utils

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.chat.failures import retry_after
from faultline.chat.retries import wait_s
from faultline.chat.spec import CallSettings

SETTINGS = CallSettings(backoff_s=1.0, max_backoff_s=10.0)


@given(st.integers(1, 30), st.floats(0, 1, exclude_max=True))
def test_backoff_doubles_up_to_its_bound_with_full_jitter(attempt: int, draw: float) -> None:
    assert wait_s(attempt, None, draw, SETTINGS) == pytest.approx(draw * min(10.0, 2.0 ** (attempt - 1)))


@given(st.floats(0, 1000), st.floats(0, 1, exclude_max=True))
def test_retry_after_is_never_undercut(after: float, draw: float) -> None:
    assert after <= wait_s(3, after, draw, SETTINGS) <= after + 1.0


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": email.utils.formatdate(1_000_030, usegmt=True)}, 30.0),
        ({"retry-after": email.utils.formatdate(999_000, usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_headers(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after(headers, 1_000_000.0) == expected

"""Errors that a user can act on, and the typed reasons of a missing value."""

from __future__ import annotations

from enum import StrEnum


class FaultlineError(Exception):
    """An error with a remedy.

    The message is one line: what is wrong (file, record, field) and what to do about it. The entry points
    print it without a traceback and exit with a non-zero status.
    """


class DataError(FaultlineError):
    """A data file, record or field is missing or broken."""


class ModelError(FaultlineError):
    """A model is not installed, or is not what its configuration says."""


class StoreError(FaultlineError):
    """A run directory or store cannot be used."""


class ConfigError(FaultlineError):
    """An option is unknown, out of range, or not understood by the experiment."""


class Missing(StrEnum):
    """Why a value could not be had. A missing value is never a score.

    Each reason is counted in a results row's note (``missing: no_span=3``).
    """

    NO_SPAN = "no_span"
    NO_PASSAGE = "no_passage"
    NO_CHANGE = "no_change"
    NO_DONOR = "no_donor"
    NOT_RETRIEVED = "not_retrieved"
    NOT_APPLICABLE = "not_applicable"
    NOT_RUN = "not_run"
    PLAN_TOO_LONG = "plan_too_long"
    WRONG_ANSWER = "wrong_answer"
    PARSE_ERROR = "parse_error"
    TIMEOUT = "timeout"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    UNDEFINED = "undefined"
    TOO_LONG = "too_long"


FAILED_CALLS = frozenset(
    (Missing.TIMEOUT, Missing.REFUSED, Missing.TRUNCATED, Missing.PARSE_ERROR, Missing.TOO_LONG)
)
"""A model was asked and gave nothing usable: no verdict, which is not a wrong one."""

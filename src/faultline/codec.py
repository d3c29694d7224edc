"""Records to JSON and back, and the content keys that stores and runs are named by."""

from __future__ import annotations

import dataclasses
import hashlib
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np
import orjson

from faultline.errors import DataError

T = TypeVar("T")
Converter = Callable[[Any], Any]


def encode(value: Any) -> bytes:
    """Canonical JSON (sorted keys): equal values give equal bytes. NaN is refused, since JSON has none.

    Raises:
        DataError: The value holds a NaN or infinity, or a type that JSON does not know.
    """
    _refuse_nan(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY)
    except TypeError as error:
        raise DataError(f"cannot be stored as JSON: {error}") from error


def key_of(value: Any, length: int = 16) -> str:
    """A content key: the first hex digits of the sha256 of :func:`encode`."""
    return hashlib.sha256(encode(value)).hexdigest()[:length]


def decode(kind: type[T], data: Any) -> T:
    """Build a (nested, frozen) dataclass from what :func:`encode` wrote.

    Raises:
        DataError: A field is missing, unknown or of the wrong shape; the message names it.
    """
    result: T = _converter(cast(Any, kind))(data)
    return result


def _refuse_nan(value: Any) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float):
            if item != item or item in (float("inf"), float("-inf")):
                raise DataError("cannot be stored as JSON: a NaN or infinity (a missing value has a reason)")
        elif isinstance(item, np.floating | np.ndarray):  # orjson would write null
            stack.extend(np.asarray(item).ravel().tolist())
        elif isinstance(item, Mapping):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
        elif dataclasses.is_dataclass(item) and not isinstance(item, type):
            stack.extend(getattr(item, f.name) for f in dataclasses.fields(item))


@cache
def _converter(kind: Any) -> Converter:
    origin = typing.get_origin(kind)
    if dataclasses.is_dataclass(kind):
        return _record_converter(cast(type, kind))
    if origin in (typing.Union, types.UnionType):
        inner = [_converter(a) for a in typing.get_args(kind) if a is not type(None)]
        return lambda data: None if data is None else inner[0](data)
    if origin is tuple:
        return _tuple_converter(typing.get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    return lambda data: data


def _tuple_converter(arguments: tuple[Any, ...]) -> Converter:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        each = _converter(arguments[0])
        return lambda data: tuple(each(item) for item in data)
    parts = [_converter(a) for a in arguments]
    return lambda data: tuple(part(item) for part, item in zip(parts, data, strict=True))


def _record_converter(kind: type) -> Converter:
    hints = typing.get_type_hints(kind)
    fields = {f.name: _converter(hints[f.name]) for f in dataclasses.fields(kind)}

    def convert(data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise DataError(f"{kind.__name__}: expected an object, found {type(data).__name__}")
        unknown = set(data) - set(fields)
        if unknown:
            raise DataError(f"{kind.__name__}: unknown field {sorted(unknown)[0]!r}")
        values = {}
        for name, value in data.items():
            try:
                values[name] = fields[name](value)
            except (TypeError, ValueError) as error:
                raise DataError(f"{kind.__name__}: field {name!r}: {error}") from error
        try:
            return kind(**values)
        except TypeError as error:
            raise DataError(f"{kind.__name__}: {error}") from error

    return convert

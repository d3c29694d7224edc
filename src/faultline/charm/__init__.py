"""Paper 1, CHARM: signals, decisions and metrics as array functions; :class:`Guard` runs them live."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faultline.charm.guard import Guard

__all__ = ["Guard"]


def __getattr__(name: str) -> Any:
    """``Guard``, imported when it is asked for."""
    if name == "Guard":
        from faultline.charm.guard import Guard

        return Guard
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

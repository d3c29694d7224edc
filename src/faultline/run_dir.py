"""Run directories: ``runs/<experiment>/<key>/``, finished once, resumed as often as it takes."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import orjson

from faultline.codec import key_of
from faultline.errors import ConfigError, StoreError
from faultline.store import exclusive, write_file

SCHEMA = 1
"""Version of the layout of a run directory and its stores."""

OVERWRITE = ("never", "missing", "always")
PACKAGES = (
    "faultline", "numpy", "pandas", "torch", "transformers", "sentence-transformers", "lightning",
    "hydra-core", "wandb", "bm25s", "faiss-cpu", "scikit-learn", "statsmodels", "scipy", "pyarrow",
)  # fmt: skip


class RunDir:
    """One run.

    Args:
        root: The runs folder.
        experiment: The experiment's name.
        inputs: Everything its products depend on; the key is their digest.
    """

    def __init__(self, root: Path, experiment: str, inputs: Mapping[str, Any]) -> None:
        self.root = root
        self.experiment = experiment
        self.key = key_of({"experiment": experiment, "schema": SCHEMA, **inputs})
        self.path = root / experiment / self.key

    @property
    def stores(self) -> Path:
        """Where trajectories and scores live that several runs share."""
        return self.root / "stores"

    def is_finished(self, expected: tuple[str, ...] = ()) -> bool:
        """Whether the run is done, and holds the files that are expected of it."""
        return (self.path / "DONE").exists() and all((self.path / name).exists() for name in expected)

    def must_run(self, overwrite: str, expected: tuple[str, ...] = ()) -> bool:
        """Whether there is work: ``never`` trusts DONE, ``missing`` also looks for files, ``always`` repeats.

        An unfinished or failed run is resumed under each of them.

        Raises:
            ConfigError: Another word.
        """
        if overwrite not in OVERWRITE:
            raise ConfigError(f"overwrite={overwrite}: choose one of {', '.join(OVERWRITE)}")
        if overwrite == "always":
            return True
        return not self.is_finished(expected if overwrite == "missing" else ())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run; a second process with the same run waits here, then finds it finished."""
        with exclusive(self.path / ".lock"):
            yield

    @contextmanager
    def working(self, config: str, manifest: Mapping[str, Any]) -> Iterator[None]:
        """Compute the run (hold it by :meth:`locked`); leaves DONE, or FAILED with the traceback."""
        self.path.mkdir(parents=True, exist_ok=True)
        for marker in ("DONE", "FAILED"):
            (self.path / marker).unlink(missing_ok=True)
        write_file(self.path / "config.yaml", config.encode())
        self.write_manifest(manifest)
        try:
            yield
        except BaseException:
            with suppress(StoreError):  # on a full disk the first error is the one to see
                write_file(self.path / "FAILED", traceback.format_exc().encode())
            raise
        write_file(self.path / "DONE", b"")

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replace ``manifest.json``."""
        body = orjson.dumps(dict(manifest), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
        write_file(self.path / "manifest.json", body)


def provenance(repository: Path) -> dict[str, Any]:
    """Where the numbers come from: code revision and dirty diff, packages, interpreter, machine.

    Args:
        repository: Folder of the source tree; outside a git tree the revision is null.
    """
    revision = _git(repository, "rev-parse", "HEAD")
    diff = _git(repository, "diff", "HEAD")
    return {
        "schema": SCHEMA,
        "git": {
            "revision": revision.strip() if revision else None,
            "dirty_sha256": hashlib.sha256(diff.encode()).hexdigest() if diff else None,
        },
        "packages": {name: _version(name) for name in PACKAGES},
        "python": sys.version.split()[0],
        "host": {"machine": platform.machine(), "system": platform.system(), "processor": _processor()},
    }


def _git(repository: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(repository), *arguments], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")

"""A finished run as it is found on disk, or in the archive that carries it to another machine."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import orjson
import pandas as pd
import pyarrow as pa
import yaml

from faultline import results
from faultline.errors import ConfigError, StoreError

ARCHIVE = "faultline-export.json"
"""The file of an archive that names the run in it."""
LIMIT = 16 * 2**30
"""Bytes that an archive may unpack to."""
_NEEDED = ("DONE", "results.parquet", "manifest.json", "config.yaml")


@dataclass(frozen=True)
class SavedRun:
    """One finished run.

    Attributes:
        path: Its folder, ``<runs>/<experiment>/<key>``.
        manifest: Of the run.
        config: The composed configuration.
        results: The results table.
        timings: Wall-clock numbers, which no results table holds.
    """

    path: Path
    manifest: Mapping[str, Any]
    config: Mapping[str, Any]
    results: pd.DataFrame
    timings: Mapping[str, float]

    @property
    def experiment(self) -> str:
        """The experiment's name."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """``experiment/key``."""
        return f"{self.path.parent.name}/{self.path.name}"

    @property
    def stores(self) -> Path:
        """The folder of the stores that the run shares with others."""
        return self.path.parents[1] / "stores"

    def table(self, stem: str) -> pd.DataFrame | None:
        """A further table of the run, None if it has none of that name.

        Raises:
            StoreError: It is there and unreadable.
        """
        path = self.path / f"{stem}.parquet"
        if not path.is_file():
            return None
        try:
            return pd.read_parquet(path)
        except (OSError, pa.ArrowException) as error:
            raise StoreError(f"{path}: unreadable ({error}); run that experiment again") from error

    def tables(self) -> list[str]:
        """Names of the tables beside the results table."""
        return sorted(p.stem for p in self.path.glob("*.parquet") if p.stem != "results")

    def store_files(self) -> list[Path]:
        """Every file of the stores that the manifest names; a store is a file or a folder of files."""
        found: list[Path] = []
        for name in self.manifest.get("stores", ()):
            place = self.stores / str(name)
            found += sorted(place.glob("*.jsonl")) if place.is_dir() else [place] if place.is_file() else []
        return found

    def missing_stores(self) -> list[str]:
        """Stores that the manifest names and that are not there."""
        return [str(n) for n in self.manifest.get("stores", ()) if not (self.stores / str(n)).exists()]


def opened(path: Path, scratch: Path) -> list[SavedRun]:
    """The runs that a path stands for: a run directory, a sweep's folder, or an archive.

    Args:
        path: What the user named.
        scratch: An empty folder of our own, where an archive is unpacked.

    Raises:
        ConfigError: The path is none of these.
        StoreError: It is, and is unfinished or broken.
    """
    if path.is_file() and zipfile.is_zipfile(path):
        return [read(_unpacked(path, scratch))]
    if (path / "jobs").is_dir():
        return [read(place) for place in _of_sweep(path)]
    if not path.exists():
        raise ConfigError(f"{path}: there is no such run; give a run directory, a sweep's folder or a .zip")
    if not (path / "manifest.json").is_file():
        inside = sorted(p.parent for p in path.glob("**/DONE"))[:1]
        remedy = f"did you mean {inside[0]}?" if inside else "give the last line that experiments.run printed"
        raise ConfigError(f"{path}: is no run directory; {remedy}")
    return [read(path)]


def read(path: Path) -> SavedRun:
    """Read a run directory.

    Raises:
        StoreError: The run is unfinished, or a file is missing or unreadable.
    """
    path = path.absolute()
    for name in _NEEDED:
        if not (path / name).is_file():
            why = "failed" if (path / "FAILED").is_file() else "is not finished"
            raise StoreError(f"{path}: {why} ({name} is missing); repeat its command, finished work is kept")
    try:
        manifest = orjson.loads((path / "manifest.json").read_bytes())
        config = yaml.safe_load((path / "config.yaml").read_text())
        timings = orjson.loads((path / "timings.json").read_bytes())
        table = results.read(path / "results.parquet")
    except (OSError, ValueError, yaml.YAMLError, pa.ArrowException) as error:
        raise StoreError(f"{path}: unreadable ({error}); run that experiment again") from error
    return SavedRun(path, manifest, config, table, timings)


def pack(run: SavedRun, out: Path) -> Iterator[Path]:
    """Write a run and the stores it used into one archive; yields each file when it is in.

    Unpacked into any ``runs`` folder the run is where it would have been made.

    Args:
        run: A finished run.
        out: The archive.

    Raises:
        StoreError: A store is gone, or the archive cannot be written.
    """
    lost = run.missing_stores()
    if lost:
        raise StoreError(f"{run.path}: the store {lost[0]} is not in {run.stores}; run the experiment again")
    root = run.path.parents[1]
    own = sorted(p for p in run.path.rglob("*") if p.is_file() and _travels(p, run.path))
    part = out.with_name(f".{out.name}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            _add(archive, ARCHIVE, orjson.dumps({"schema": 1, "run": run.name}))
            for path in (*own, *run.store_files()):
                _add(archive, str(path.relative_to(root)), path.read_bytes())
                yield path
        part.replace(out)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StoreError(f"{out}: cannot be written ({error.strerror}); choose another place") from error


def _travels(path: Path, home: Path) -> bool:
    """Everything but locks, part files and W&B's own cache (what it has staged is needed to sync)."""
    inside = path.relative_to(home)
    return not (inside.name.startswith(".") or inside.parts[:2] == ("wandb", "cache"))


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))  # the same run gives the same bytes
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, data)


def _unpacked(path: Path, scratch: Path) -> Path:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if ARCHIVE not in names:
                raise StoreError(f"{path}: was not written by experiments.export; pack the run with it")
            bad = [n for n in names if n.startswith(("/", "\\")) or ".." in PurePosixPath(n).parts]
            if bad or sum(info.file_size for info in archive.infolist()) > LIMIT:
                raise StoreError(f"{path}: is not safe to unpack; ask for a fresh export")
            named = str(orjson.loads(archive.read(ARCHIVE))["run"])
            archive.extractall(scratch)
    except (zipfile.BadZipFile, OSError, ValueError, KeyError) as error:
        raise StoreError(f"{path}: is damaged ({error}); export the run again") from error
    home = (scratch / named).resolve()
    if not home.is_relative_to(scratch.resolve()):
        raise StoreError(f"{path}: names a run outside itself; ask for a fresh export")
    return home


def _of_sweep(folder: Path) -> list[Path]:
    records = [orjson.loads(p.read_bytes()) for p in sorted((folder / "jobs").glob("*.json"))]
    paths = [Path(str(r["path"])) for r in records if r.get("path")]
    if not paths:
        raise StoreError(f"{folder}: no job of the sweep is finished; repeat its command")
    return paths

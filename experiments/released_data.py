"""What the experiments on released data share: the digests that their keys depend on."""

from __future__ import annotations

import hashlib
from pathlib import Path

from faultline.errors import DataError


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a released data set, by name.

    Raises:
        DataError: No such folder.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: not there; run `python -m experiments.fetch {folder.name}`")
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

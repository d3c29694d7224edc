"""The calibration file: frozen thresholds, and what they were fitted on and for.

A threshold means something only with the models whose scores it cuts, so the loader refuses a file that was
fitted for other weights, from files that are for testing, or that was edited by hand.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from faultline.charm.cpm import CpmSettings
from faultline.charm.csct import CsctSettings
from faultline.charm.decide import CharmSettings
from faultline.charm.sfv import SfvSettings
from faultline.charm.trigger import TriggerSettings
from faultline.codec import decode, key_of
from faultline.errors import ConfigError, DataError, ModelError
from faultline.store import write_file

FORMAT = "faultline.charm.calibration"
VERSION = 1
LEAST_DIGEST = 12
"""Hex digits by which weights are told apart, at least."""
REMEDY = "fit one for these models with python -m experiments.run +exp=charm_calibrate"


@dataclass(frozen=True, slots=True)
class Fitted:
    """What the numbers come from.

    Attributes:
        datasets: Names, sorted.
        split: ``train``; a file fitted on anything else is refused.
        data_sha256: Content digest of each data set, in the order of ``datasets``.
        conditions: Injected conditions (``fault=...;scope=...;trust=...``).
        n_clean: Clean trajectories.
        n_injected: Injected trajectories.
        nli: Name of the NLI model.
        nli_sha256: Its weight digest.
        embedder: Name of the embedder.
        embedder_sha256: Its weight digest.
        backbone: Who acted.
        criterion: What theta was chosen by (``f1``, ``conformal``, a risk profile).
    """

    datasets: tuple[str, ...]
    split: str
    data_sha256: tuple[str, ...]
    conditions: tuple[str, ...]
    n_clean: int
    n_injected: int
    nli: str
    nli_sha256: str
    embedder: str
    embedder_sha256: str
    backbone: str
    criterion: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds with their origin.

    Attributes:
        sfv: Fact verifier.
        csct: Consistency tracker.
        cpm: Confidence monitor, the temperature included.
        trigger: Weights and theta.
        fitted: Their origin.
    """

    sfv: SfvSettings
    csct: CsctSettings
    cpm: CpmSettings
    trigger: TriggerSettings
    fitted: Fitted

    @classmethod
    def of(cls, settings: CharmSettings, fitted: Fitted) -> Calibration:
        """The fitted part of some settings; routing and profiles stay the user's."""
        return cls(settings.sfv, settings.csct, settings.cpm, settings.trigger, fitted)

    def settings(self, base: CharmSettings | None = None) -> CharmSettings:
        """Settings for :func:`faultline.charm.decide.decide`; routing and profiles from ``base``."""
        return replace(
            base or CharmSettings(), sfv=self.sfv, csct=self.csct, cpm=self.cpm, trigger=self.trigger
        )


def save(calibration: Calibration, path: Path) -> None:
    """Write a calibration with a digest over its content.

    Raises:
        DataError: It was not fitted on train files, or a digest is too short to name weights.
        StoreError: The file cannot be written.
    """
    _check_origin(calibration.fitted, "calibration to be saved")
    body = _plain(calibration)
    record = {"format": FORMAT, "version": VERSION, "sha256": key_of(body, 64), "calibration": body}
    write_file(path, orjson.dumps(record, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")


def load(path: Path, *, nli_sha256: str, embedder_sha256: str) -> Calibration:
    """Read a calibration for the models at hand.

    Args:
        path: Of the file.
        nli_sha256: Weight digest of the NLI model in use, or its first hex digits (12 at least).
        embedder_sha256: The same of the embedder.

    Raises:
        DataError: The file is absent, broken, edited, of another format, or not fitted on train files.
        ModelError: It was fitted for other weights.
    """
    record = _read(path)
    if record.get("format") != FORMAT or record.get("version") != VERSION:
        raise DataError(f"{path}, field format: not a calibration of version {VERSION} ({FORMAT}); {REMEDY}")
    body = record.get("calibration")
    if not isinstance(body, dict) or record.get("sha256") != key_of(body, 64):
        raise DataError(f"{path}, field sha256: the content was changed after it was fitted; {REMEDY}")
    try:
        found = decode(Calibration, body)
    except (ConfigError, DataError) as error:
        raise DataError(f"{path}: {error}; {REMEDY}") from error
    _check_origin(found.fitted, str(path))
    given = (
        ("nli", found.fitted.nli_sha256, nli_sha256),
        ("embedder", found.fitted.embedder_sha256, embedder_sha256),
    )
    for role, wanted, other in given:
        if not same_weights(wanted, other):
            raise ModelError(
                f"{path}, field {role}_sha256: fitted for weights {wanted[:LEAST_DIGEST]}, "
                f"in use are {other[:LEAST_DIGEST] or 'none'}; {REMEDY}"
            )
    return found


def same_weights(one: str, other: str) -> bool:
    """Whether two digests, or beginnings of at least 12 hex digits, name the same weights."""
    shared = min(len(one), len(other))
    return shared >= LEAST_DIGEST and one[:shared].lower() == other[:shared].lower()


def _read(path: Path) -> dict[str, Any]:
    try:
        record = orjson.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); {REMEDY}") from error
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: not JSON ({error}); {REMEDY}") from error
    if not isinstance(record, dict):
        raise DataError(f"{path}: not a JSON object; {REMEDY}")
    return record


def _plain(calibration: Calibration) -> dict[str, Any]:
    plain: dict[str, Any] = orjson.loads(orjson.dumps(asdict(calibration)))
    return plain


def _check_origin(fitted: Fitted, where: str) -> None:
    if fitted.split != "train":
        raise DataError(f"{where}, field split: {fitted.split!r}; thresholds are fitted on train files only")
    if len(fitted.datasets) != len(fitted.data_sha256) or not fitted.datasets:
        raise DataError(f"{where}, field data_sha256: give one digest a data set")
    for name in ("nli_sha256", "embedder_sha256"):
        if len(getattr(fitted, name)) < LEAST_DIGEST:
            raise DataError(f"{where}, field {name}: give at least {LEAST_DIGEST} hex digits")

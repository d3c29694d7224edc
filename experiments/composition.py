"""Composing the configuration with errors that a person can read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from experiments.catalogue import CONF
from faultline.errors import ConfigError

OUTSIDE_KEY = ("runs_dir", "overwrite", "dry_run", "tracking", "trainer")
"""Parts of the configuration that no product depends on (the trainer's precision is added back)."""


def compose(overrides: Sequence[str]) -> DictConfig:
    """The configuration for these overrides.

    Raises:
        ConfigError: An unknown option or file, in one line.
    """
    try:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            return hydra_compose("config", list(overrides))
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(_one_line(error)) from error


def set_options(overrides: Sequence[str]) -> dict[str, str]:
    """What the user set: top-level option to its value, from Hydra's override strings."""
    found = {}
    for override in overrides:
        name, _, value = override.lstrip("+~").partition("=")
        found[name.split(".")[0].split("@")[0].strip("/")] = value
    return found


def content(cfg: DictConfig) -> dict[str, Any]:
    """The part of the configuration that products depend on, resolved."""
    plain = OmegaConf.to_container(cfg, resolve=True)
    assert isinstance(plain, dict)
    kept = {str(k): v for k, v in plain.items() if k not in (*OUTSIDE_KEY, "hydra")}
    kept["precision"] = str(cfg.trainer.precision)
    return kept


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("full_key:", "object_type=", "Set the env"))]
    return "; ".join(told[:4]) + "; see python -m experiments.run --help and --list"

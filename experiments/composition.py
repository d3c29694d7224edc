"""Composing the configuration with errors that a person can read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.errors import HydraException, InstantiationException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from experiments.catalogue import CONF
from faultline.errors import ConfigError, FaultlineError

OUTSIDE_KEY = (
    *("runs_dir", "overwrite", "dry_run", "tracking", "trainer"),
    *("cache", "cache_max_mb", "budget", "calls"),
)
"""Parts of the configuration that no product depends on (the trainer's precision is added back)."""

COUNTS = ("limit", "repeats", "resamples")
FLAGS = ("paired", "dry_run")


def compose(overrides: Sequence[str]) -> DictConfig:
    """The configuration for these overrides.

    Raises:
        ConfigError: An unknown option or file, in one line.
    """
    try:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            cfg = hydra_compose("config", list(overrides))
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise ConfigError(_one_line(error)) from error
    check_values(cfg)
    return cfg


def check_values(cfg: DictConfig) -> None:
    """Refuse a value of the general options that no experiment can use.

    Raises:
        ConfigError: A value of another type, or a count below 1.
    """
    try:
        values = {name: cfg[name] for name in (*COUNTS, *FLAGS, "seed")}
    except OmegaConfBaseException as error:
        raise ConfigError(_one_line(error)) from error
    for name, value in values.items():
        if name == "limit" and value is None:
            continue
        if name in FLAGS:
            if not isinstance(value, bool):
                raise ConfigError(f"{name}={value}: must be true or false")
        elif not isinstance(value, int) or isinstance(value, bool):
            raise ConfigError(f"{name}={value}: must be a whole number")
        elif name in COUNTS and value < 1:
            raise ConfigError(f"{name}={value}: must be at least 1")


def instantiate(cfg: DictConfig, **extra: Any) -> Any:
    """The object that a ``_target_`` configuration describes, lists and dicts as plain ones.

    Raises:
        FaultlineError: What the object itself says about a wrong value.
        ConfigError: Any other failure, in one line.
    """
    import hydra.utils

    try:
        return hydra.utils.instantiate(cfg, _convert_="all", **extra)
    except InstantiationException as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, FaultlineError):
            cause = cause.__cause__
        if cause is not None:
            raise cause from error
        raise ConfigError(f"{cfg.get('_target_')}: {_one_line(error)}") from error


def set_options(overrides: Sequence[str]) -> dict[str, str]:
    """What the user set: top-level option to its value, from Hydra's override strings.

    Raises:
        ConfigError: ``+name=...`` would add an option that nothing reads.
    """
    known = {str(name) for name in OmegaConf.load(CONF / "config.yaml")} | {p.name for p in CONF.iterdir()}
    found = {}
    for override in overrides:
        name, _, value = override.lstrip("+~").partition("=")
        root = name.split(".")[0].split("@")[0].strip("/")
        if override.startswith("+") and root not in known:
            raise ConfigError(f"{override}: there is no option {root}; see python -m experiments.run --help")
        found[root] = value
    return found


def content(cfg: DictConfig) -> dict[str, Any]:
    """The part of the configuration that products depend on, resolved.

    Raises:
        ConfigError: A value that cannot be resolved or used.
    """
    check_values(cfg)
    try:
        plain = OmegaConf.to_container(cfg, resolve=True)
    except OmegaConfBaseException as error:
        raise ConfigError(_one_line(error)) from error
    assert isinstance(plain, dict)
    kept = {str(k): v for k, v in plain.items() if k not in (*OUTSIDE_KEY, "hydra")}
    if "chat" not in plain["policy"]:
        kept = {k: v for k, v in kept.items() if k not in ("chat", "prices")}
    kept["precision"] = str(cfg.trainer.precision)
    return kept


def _one_line(error: Exception) -> str:
    text = str(error).split("Config search path:")[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("full_key:", "object_type=", "Set the env"))]
    named = [error.override] if isinstance(error, OverrideParseException) else []
    joined = "; ".join(line.rstrip(".") for line in named + told)
    return joined.replace(":; ", ": ") + "; see python -m experiments.run --help and --list"

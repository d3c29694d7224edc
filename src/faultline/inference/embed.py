"""Unit embeddings of texts: distinct texts once, long ones in chunks of the model's real limit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from faultline.errors import ModelError
from faultline.inference.cache import ScoreCache
from faultline.inference.checkpoints import LoadedEmbedder
from faultline.inference.forward import Execute, Forward, checked_precision, execute, in_precision
from faultline.inference.jobs import InputSet, Job, Progress
from faultline.inference.template import learn, tokenize
from faultline.inference.windows import chunks

FloatRows = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]


class EmbeddingScorer:
    """An Embedder over a Sentence Transformers model.

    A text over the model's limit is cut into chunks without overlap and its embedding is the mean of the
    chunk embeddings, each counting the same (CHARM, III-C: chunked and mean-pooled), scaled to unit length.

    Attributes:
        name: Of the model.
        digest: First 12 hex digits of the weight digest.
        precision: ``fp32``, ``bf16`` (autocast) or ``bf16-true``.
        token_budget: Padded tokens a batch.
        max_tokens: Longest chunk, special tokens included.
    """

    version = 1

    def __init__(
        self,
        loaded: LoadedEmbedder,
        precision: str = "fp32",
        token_budget: int = 8192,
        device: str = "cpu",
        cache: ScoreCache | str | Path | None = None,
        executor: Execute = execute,
    ) -> None:
        """Wrap a loaded embedder.

        Args:
            loaded: The model.
            precision: See :data:`faultline.inference.forward.PRECISIONS`.
            token_budget: Padded tokens a batch at most.
            device: As torch names it.
            cache: A score cache or the path of one.
            executor: Runs planned batches; Lightning's is in ``lightning_predict``.

        Raises:
            ConfigError: Unknown precision.
            ModelError: The tokenizer cannot be used.
        """
        self.name = loaded.name
        self.digest = loaded.digest[:12]
        self.precision = checked_precision(precision)
        self.token_budget = token_budget
        self.max_tokens = loaded.max_tokens
        self._loaded = loaded
        self._template = learn(loaded.tokenizer, loaded.name, pair=False)
        self._cache = ScoreCache(cache) if isinstance(cache, str | Path) else cache
        self._executor = executor
        self._forward = Forward(
            core=in_precision(loaded.model, self.precision),
            reference=loaded.model,
            columns=loaded.dimension,
            pad_id=self._template.pad_id,
            precision=self.precision,
            device=torch.device(device),
        )

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatRows:
        """Embed texts; equal texts are computed once.

        Args:
            texts: Any length; an empty text is embedded as the model does it, from special tokens alone.
            progress: Called after each batch with (tokens done, tokens in all).

        Returns:
            Rows of unit length, shape (n, dimension).

        Raises:
            ModelError: An embedding is not finite or has no direction.
        """
        job, inverse, text, item = self.prepare(texts)
        rows = self._executor(job, self._forward, self._cache, progress)
        return unit_means(rows, text, item)[inverse]

    def on(self, executor: Execute, precision: str, device: str) -> EmbeddingScorer:
        """The same scorer run by another executor; the weights are shared."""
        return EmbeddingScorer(self._loaded, precision, self.token_budget, device, self._cache, executor)

    def prepare(self, texts: Sequence[str]) -> tuple[Job, IntArray, IntArray, IntArray]:
        """Tokenise, chunk and plan.

        Returns:
            The job; the distinct text of each text given, shape (n,); the distinct text of each chunk,
            shape (m,), ascending; and the job's row of each chunk, shape (m,).
        """
        index: dict[str, int] = {}
        inverse = [index.setdefault(str(text), len(index)) for text in texts]
        first = dict(zip(reversed(inverse), range(len(inverse) - 1, -1, -1), strict=True))
        inputs = InputSet()
        owners: list[int] = []
        items: list[int] = []
        size = self.max_tokens - self._template.specials
        for text, ids in enumerate(tokenize(self._loaded.tokenizer, list(index))):
            for start, end in chunks(ids.shape[0], size):
                owners.append(text)
                items.append(inputs.add(*self._template.assemble(ids[start:end]), first[text]))
        job = inputs.job("text", self._loaded.digest, self._forward.where, self.token_budget)
        return job, np.array(inverse, np.int64), np.array(owners, np.int64), np.array(items, np.int64)


def unit_means(rows: FloatRows, owner: IntArray, item: IntArray) -> FloatRows:
    """Mean of the rows of each owner, scaled to unit length.

    Args:
        rows: Shape (k, dimension).
        owner: Shape (m,), ascending from 0 without gaps.
        item: Shape (m,), a row for each.

    Raises:
        ModelError: A mean of length zero.
    """
    if not owner.shape[0]:
        return np.empty((0, rows.shape[1]), dtype=np.float32)
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    counts = np.diff(starts, append=owner.shape[0])
    means = np.add.reduceat(rows[item].astype(np.float64), starts, axis=0) / counts[:, None]
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    if not norms.all():
        raise ModelError("an embedding has length zero, so no direction; check the embedder's weights")
    unit: FloatRows = (means / norms).astype(np.float32)
    return unit

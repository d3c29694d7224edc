"""NLI scores of (premise, hypothesis) pairs: distinct pairs once, long ones in windows, nothing cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from faultline.errors import DataError
from faultline.inference import windows
from faultline.inference.batches import IdArray
from faultline.inference.cache import ScoreCache
from faultline.inference.checkpoints import LABELS
from faultline.inference.forward import (
    Execute,
    Forward,
    checked_precision,
    execute,
    in_precision,
)
from faultline.inference.jobs import InputSet, Job, Progress
from faultline.inference.loaded import LoadedClassifier
from faultline.inference.template import learn, tokenize

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Pair = tuple[str, str]

ACTIVATION = "softmax"
"""What makes probabilities of logits, whatever activation the checkpoint states."""


@dataclass(frozen=True, slots=True)
class PairScores:
    """Scores of n pairs, in the order given.

    Attributes:
        probs: Shape (n, 3), in [0, 1], columns entailment, neutral, contradiction; of a windowed pair those
            of the window that decides (:func:`faultline.inference.windows.combine`).
        windows: Shape (n,), model inputs of each pair.
        tokens: Shape (n,), tokens of premise and hypothesis with one set of special tokens.
        truncated: Shape (n,), tokens that no window holds; 0, counted, not assumed.
        plan_id: Of the batch plan.
        padding_share: Padding tokens over computed tokens.
        activation: Always softmax.
    """

    probs: FloatArray
    windows: IntArray
    tokens: IntArray
    truncated: IntArray
    plan_id: str
    padding_share: float
    activation: str = ACTIVATION


@dataclass(frozen=True, slots=True)
class Prepared:
    """Distinct pairs cut into distinct model inputs.

    Attributes:
        job: The inputs and their plan.
        inverse: Shape (n,), distinct pair of each pair given.
        pair: Shape (m,), distinct pair of each window.
        hypothesis: Shape (m,), its hypothesis window.
        premise: Shape (m,), its premise window.
        item: Shape (m,), its row in the job.
        tokens: Shape (distinct pairs,).
        truncated: Shape (distinct pairs,).
    """

    job: Job
    inverse: IntArray
    pair: IntArray
    hypothesis: IntArray
    premise: IntArray
    item: IntArray
    tokens: IntArray
    truncated: IntArray


class NliScorer:
    """A Verifier over a three-class NLI model.

    Attributes:
        name: Of the model.
        digest: First 12 hex digits of the weight digest.
        precision: ``fp32``, ``bf16`` (autocast) or ``bf16-true``.
        token_budget: Padded tokens a batch.
        rule: Window sizes.
    """

    version = 1

    def __init__(
        self,
        loaded: LoadedClassifier,
        precision: str = "fp32",
        token_budget: int = 8192,
        device: str = "cpu",
        cache: ScoreCache | str | Path | None = None,
        rule: windows.WindowRule | None = None,
        executor: Execute = execute,
    ) -> None:
        """Wrap a loaded classifier.

        Args:
            loaded: The model.
            precision: See :data:`faultline.inference.forward.PRECISIONS`.
            token_budget: Padded tokens a batch at most.
            device: As torch names it.
            cache: A score cache or the path of one.
            rule: Window sizes, the paper's by default.
            executor: Runs planned batches; Lightning's is in ``lightning_predict``.

        Raises:
            ConfigError: Unknown precision.
            ModelError: The tokenizer cannot be used.
        """
        self.name = loaded.name
        self.digest = loaded.digest[:12]
        self.precision = checked_precision(precision)
        self.token_budget = token_budget
        self.rule = rule or windows.WindowRule()
        self._loaded = loaded
        self._template = learn(loaded.tokenizer, loaded.name, pair=True)
        self._cache = ScoreCache(cache) if isinstance(cache, str | Path) else cache
        self._executor = executor
        self._forward = Forward(
            core=in_precision(loaded.model, self.precision),
            reference=loaded.model,
            columns=3,
            pad_id=self._template.pad_id,
            precision=self.precision,
            device=torch.device(device),
        )

    def score(self, pairs: Sequence[Pair], progress: Progress | None = None) -> PairScores:
        """Score pairs; equal pairs are computed once.

        Args:
            pairs: (premise, hypothesis) texts.
            progress: Called after each batch with (tokens done, tokens in all).

        Raises:
            DataError: A hypothesis without a token: a missing claim has no score.
            ModelError: Scores that are not finite.
        """
        prepared = self.prepare(pairs)
        logits = self._executor(prepared.job, self._forward, self._cache, progress)
        columns = [self._loaded.label2id[label] for label in LABELS]
        probs = softmax(logits[:, columns].astype(np.float64))[prepared.item]
        distinct = int(prepared.tokens.shape[0])
        combined = windows.combine(probs, prepared.pair, prepared.hypothesis, prepared.premise, distinct)
        counts = np.bincount(prepared.pair, minlength=distinct).astype(np.int64)
        back = prepared.inverse
        return PairScores(
            probs=combined.probs[back],
            windows=counts[back],
            tokens=prepared.tokens[back],
            truncated=prepared.truncated[back],
            plan_id=prepared.job.plan.plan_id,
            padding_share=prepared.job.plan.padding_share,
        )

    @property
    def label2id(self) -> Mapping[str, int]:
        """Logit column of each class, as the checkpoint says."""
        return self._loaded.label2id

    def verify(self, pairs: Sequence[Pair]) -> FloatArray:
        """(evidence, claim) pairs to probabilities, shape (n, 3): entailment, neutral, contradiction."""
        return self.score(pairs).probs

    def on(self, executor: Execute, precision: str, device: str) -> NliScorer:
        """The same scorer run by another executor; the weights are shared."""
        settings = (self.token_budget, device, self._cache, self.rule, executor)
        return NliScorer(self._loaded, precision, *settings)

    def prepare(self, pairs: Sequence[Pair]) -> Prepared:
        """Tokenise, cut and plan the distinct inputs of pairs."""
        index: dict[Pair, int] = {}
        inverse = [index.setdefault((str(premise), str(claim)), len(index)) for premise, claim in pairs]
        first = dict(zip(reversed(inverse), range(len(inverse) - 1, -1, -1), strict=True))
        texts = list(dict.fromkeys(text for pair in index for text in pair))
        ids = dict(zip(texts, tokenize(self._loaded.tokenizer, texts), strict=True))
        inputs = InputSet()
        rows: list[tuple[int, int, int, int]] = []
        tokens, truncated = [], []
        for pair, (premise, claim) in enumerate(index):
            left, right = ids[premise], ids[claim]
            if not right.shape[0]:
                raise DataError(f"pair {first[pair]}: the hypothesis has no token; leave it out as missing")
            cut = self._cut(left, right)
            for h, (h_start, h_end) in enumerate(cut.hypothesis):
                for p, (p_start, p_end) in enumerate(cut.premise):
                    built = self._template.assemble(left[p_start:p_end], right[h_start:h_end])
                    rows.append((pair, h, p, inputs.add(*built, first[pair])))
            tokens.append(left.shape[0] + right.shape[0] + self._template.specials)
            lost = windows.uncovered(left.shape[0], cut.premise)
            truncated.append(lost + windows.uncovered(right.shape[0], cut.hypothesis))
        job = inputs.job("pair", self._loaded.digest, self._forward.where, self.token_budget)
        table = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        return Prepared(
            job, _ints(inverse), table[0], table[1], table[2], table[3], _ints(tokens), _ints(truncated)
        )

    def _cut(self, premise: IdArray, hypothesis: IdArray) -> windows.PairWindows:
        lengths = (premise.shape[0], hypothesis.shape[0])
        return windows.pair_windows(*lengths, self._loaded.max_tokens, self._template.specials, self.rule)


def softmax(logits: FloatArray) -> FloatArray:
    """Probabilities of rows of logits, shape (n, classes)."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs: FloatArray = powers / powers.sum(axis=1, keepdims=True)
    return probs


def _ints(values: Sequence[int]) -> IntArray:
    return np.asarray(values, dtype=np.int64)

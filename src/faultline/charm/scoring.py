"""The score verb for CHARM: which texts the models must see, and their answers as stage scores.

Every stage text is checked against two anchors (paper 1, III-F): c1, the stage-1 output (the top-1
document), and the consensus of the top k candidates of stage 1; and against the stage before it (Lemma 1's
per-step detector).
Stage 1 is scored against the consensus only, since c1 against itself is 1 by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from faultline.charm.options import require_choice
from faultline.charm.scores import FloatArray, StageScores
from faultline.errors import ConfigError
from faultline.records import Trajectory

CONSENSUS = ("concat", "centroid_sentences", "others")
CONFIDENCE = ("logprobs", "stated")
CENTROID_SENTENCES = 5
Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]
Place = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Requests:
    """What the models must score for n trajectories.

    Attributes:
        pairs: (premise, hypothesis), repeated ones included.
        places: For each pair: anchor name, trajectory, stage (0-based).
        texts: Stage texts to embed.
        text_places: For each text: trajectory, stage (0-based).
        shape: (n, S).
    """

    pairs: list[tuple[str, str]]
    places: list[Place]
    texts: list[str]
    text_places: list[tuple[int, int]]
    shape: tuple[int, int]


def requests(trajectories: Sequence[Trajectory], anchors: Sequence[str]) -> Requests:
    """List what must be scored.

    Args:
        trajectories: n trajectories.
        anchors: Shape (n,), the consensus anchor of each (see :func:`consensus_anchors`).
    """
    shape = (len(trajectories), max((len(t.stages) for t in trajectories), default=0))
    found = Requests([], [], [], [], shape)
    for row, (trajectory, anchor) in enumerate(zip(trajectories, anchors, strict=True)):
        texts = [stage.text for stage in trajectory.stages]
        for column, text in enumerate(texts):
            if not text.strip():
                continue
            found.texts.append(text)
            found.text_places.append((row, column))
            premises = {"consensus": anchor}
            if column > 0:
                premises |= {"top1": texts[0], "previous": texts[column - 1]}
            for name, premise in premises.items():
                if premise.strip():
                    found.pairs.append((premise, text))
                    found.places.append((name, row, column))
    return found


def assemble(
    trajectories: Sequence[Trajectory],
    asked: Requests,
    probabilities: FloatArray,
    embeddings: npt.NDArray[np.float32],
    confidence: str = "logprobs",
) -> StageScores:
    """The models' answers as stage scores.

    Args:
        trajectories: As given to :func:`requests`.
        asked: What :func:`requests` listed.
        probabilities: Shape (pairs, 3): entailment, neutral, contradiction.
        embeddings: Shape (texts, d), unit rows.
        confidence: ``logprobs``: use a confidence only if it comes from log-probabilities; ``stated``: also
            one that the backbone states in words. Without any, the monitor falls back to contradiction.

    Raises:
        ConfigError: Another word for ``confidence``.
    """
    require_choice("charm.confidence", confidence, CONFIDENCE)
    present = np.zeros(asked.shape, dtype=np.bool_)
    for row, column in asked.text_places:
        present[row, column] = True
    anchors = {name: np.full((*asked.shape, 3), np.nan) for name in ("top1", "consensus", "previous")}
    for (name, row, column), triple in zip(asked.places, _normalised(probabilities), strict=True):
        anchors[name][row, column] = triple
    previous, first, mean = _similarities(asked, embeddings)
    return StageScores(
        present=present,
        top1=anchors["top1"],
        consensus=anchors["consensus"],
        similarity_previous=previous,
        similarity_first=first,
        similarity_mean=mean,
        confidence=_confidences(trajectories, asked.shape, present, confidence),
        entailment_previous=anchors["previous"][..., 0],
    )


def consensus_anchors(
    trajectories: Sequence[Trajectory], k: int = 3, how: str = "concat", encode: Encode | None = None
) -> list[str]:
    """The consensus of the top k candidates of stage 1 (III-F), one text a trajectory.

    Args:
        trajectories: With the hits of stage 1.
        k: Candidates.
        how: ``concat``: the passages one after the other; ``centroid_sentences``: their
            :data:`CENTROID_SENTENCES` sentences nearest to the mean embedding, in their order;
            ``others``: the k candidates after the first, which is then no witness for itself (ours).
        encode: The embedder, for ``centroid_sentences``.

    Raises:
        ConfigError: Another word for ``how``, or no embedder for ``centroid_sentences``.
    """
    require_choice("charm.consensus", how, CONSENSUS)
    if how == "centroid_sentences" and encode is None:
        raise ConfigError(f"charm.consensus={how}: needs an embedder; choose one, or charm.consensus=concat")
    start = 1 if how == "others" else 0
    candidates = [[hit.passage for hit in t.stages[0].hits[start : start + k]] for t in trajectories]
    if how != "centroid_sentences":
        return [" ".join(passage.rendered for passage in passages) for passages in candidates]
    sentences = [[s.strip() for p in passages for s in p.sentences if s.strip()] for passages in candidates]
    distinct = list(dict.fromkeys(s for own in sentences for s in own))
    vectors = dict(zip(distinct, encode(distinct), strict=True)) if encode is not None and distinct else {}
    return [_central(own, vectors) for own in sentences]


def _central(sentences: list[str], vectors: dict[str, npt.NDArray[np.float32]]) -> str:
    if not sentences:
        return ""
    rows = np.stack([vectors[s] for s in sentences]).astype(np.float64)
    nearness = rows @ rows.mean(axis=0)
    best = sorted(np.argsort(-nearness, kind="stable")[:CENTROID_SENTENCES])
    return " ".join(sentences[i] for i in best)


def _normalised(probabilities: FloatArray) -> FloatArray:
    """Rows summing to 1 in float64 (a float32 softmax misses it by rounding)."""
    values = np.asarray(probabilities, dtype=np.float64).reshape(-1, 3)
    total: FloatArray = values / (values[:, 0] + values[:, 1] + values[:, 2])[:, None]
    return total


def _similarities(
    asked: Requests, embeddings: npt.NDArray[np.float32]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Cosines with the previous stage, the first, and the mean of all earlier ones, else NaN."""
    previous, first, mean = (np.full(asked.shape, np.nan) for _ in range(3))
    rows = np.asarray(embeddings, dtype=np.float64)
    by_trajectory: dict[int, list[tuple[int, FloatArray]]] = {}
    for (row, column), vector in zip(asked.text_places, rows, strict=True):
        earlier = by_trajectory.setdefault(row, [])
        if earlier:
            first_column, first_vector = earlier[0]
            if earlier[-1][0] == column - 1:
                previous[row, column] = _cosine(earlier[-1][1], vector)
            if first_column == 0:
                first[row, column] = _cosine(first_vector, vector)
            mean[row, column] = _cosine(np.mean([v for _, v in earlier], axis=0), vector)
        earlier.append((column, vector))
    return previous, first, mean


def _cosine(a: FloatArray, b: FloatArray) -> float:
    scale = float(np.sqrt(np.sum(a * a)) * np.sqrt(np.sum(b * b)))
    return float(np.clip(np.sum(a * b) / scale, -1.0, 1.0)) if scale > 0 else 0.0


def _confidences(
    trajectories: Sequence[Trajectory], shape: tuple[int, int], present: npt.NDArray[np.bool_], which: str
) -> FloatArray:
    wanted = ("logprobs",) if which == "logprobs" else ("logprobs", "stated")
    values = np.full(shape, np.nan)
    for row, trajectory in enumerate(trajectories):
        for column, stage in enumerate(trajectory.stages):
            known = stage.confidence is not None and stage.confidence_source in wanted
            if known and present[row, column]:
                values[row, column] = float(stage.confidence or 0.0)
    return values

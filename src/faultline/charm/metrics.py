"""Metrics of early detection (paper 1, VI-B and VI-D), over flags and injection stages.

Stages count from 1. A rate over no cases is undefined (None), never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from faultline.charm.cascade_types import CASCADE_TYPES, NO_TYPE
from faultline.charm.controls import per_step
from faultline.charm.options import require_choice
from faultline.charm.routing import HUMAN, ROUTES
from faultline.charm.scores import BoolArray, FloatArray, IntArray, StageScores
from faultline.charm.trigger import first_flag
from faultline.errors import DataError
from faultline.stats import Estimate, bootstrap, wilson

CRITERIA = ("strict", "windowed", "liberal", "any")
OUTPUT_STAGE = 5


def detection_stage(
    flagged: BoolArray, injected: IntArray, criterion: str = "strict", output_stage: int = OUTPUT_STAGE
) -> IntArray:
    """Stage at which a cascade counts as detected, shape (n,); 0 where it does not.

    Args:
        flagged: Shape (n, S).
        injected: Shape (n,), 1-based stage i of the injection.
        criterion: ``strict``: the first flag, if at stage <= i + 1 (VI-B; one before the injection counts);
            ``windowed``: the first flag at or after i, if at stage <= i + 1 (an earlier one does not count);
            ``liberal``: the first flag, if before the output stage (VI-B, VI-D); ``any``: the first flag.
        output_stage: The final output, s5 in the paper.

    Raises:
        ConfigError: An unknown criterion.
        DataError: Shapes that do not match, or an injection stage below 1.
    """
    require_choice("criterion", criterion, CRITERIA)
    if injected.shape != flagged.shape[:1] or (injected < 1).any():
        raise DataError(f"injected: shape {injected.shape}, give {flagged.shape[:1]} stages from 1 on")
    first = first_flag(flagged, injected if criterion == "windowed" else 1)
    if criterion in ("strict", "windowed"):
        return np.where(first <= injected + 1, first, 0)
    return np.where(first < output_stage, first, 0) if criterion == "liberal" else first


def cdr(
    flagged: BoolArray, injected: IntArray, criterion: str = "strict", output_stage: int = OUTPUT_STAGE
) -> Estimate:
    """Cascade detection rate: detected among ALL injected trajectories given; Wilson interval."""
    return _share(detection_stage(flagged, injected, criterion, output_stage) > 0)


def fpr(flagged: BoolArray) -> Estimate:
    """False positive rate: clean trajectories with a flag at any stage, the output stage included; Wilson."""
    return _share(np.asarray(flagged.any(axis=1)))


def fpr_before_output(flagged: BoolArray, output_stage: int = OUTPUT_STAGE) -> Estimate:
    """As :func:`fpr`, flags before the output stage only: the counterpart of the liberal CDR."""
    return _share(np.asarray(flagged[:, : output_stage - 1].any(axis=1)))


def cdd(
    flagged: BoolArray,
    injected: IntArray,
    rng: np.random.Generator,
    criterion: str = "strict",
    clusters: Sequence[object] | None = None,
    output_stage: int = OUTPUT_STAGE,
) -> Estimate:
    """Cascade depth at detection: mean stage over the cascades DETECTED under the criterion; BCa interval.

    Args:
        flagged: Shape (n, S).
        injected: Shape (n,).
        rng: Source of the resamples.
        criterion: See :func:`detection_stage`.
        clusters: Shape (n,), question ids, resampled whole.
        output_stage: See :func:`detection_stage`.

    Returns:
        A stage from 1 to S; ``n`` counts detected cascades, undefined for none.
    """
    stage = detection_stage(flagged, injected, criterion, output_stage)
    found = stage > 0
    kept = None if clusters is None else [c for c, yes in zip(clusters, found, strict=True) if yes]
    return bootstrap(stage[found].astype(np.float64), rng, clusters=kept)


def epr(
    wrong: BoolArray,
    wrong_without: BoolArray,
    rng: np.random.Generator,
    clusters: Sequence[object] | None = None,
) -> Estimate:
    """Error propagation reduction 1 - EMerr / EMerr(none), Eq. 5; BCa interval over pairs.

    Args:
        wrong: Shape (n,), final answers of injected trajectories that are wrong with the system.
        wrong_without: Shape (n,), the same trajectories without it.
        rng: Source of the resamples.
        clusters: Shape (n,), question ids.

    Returns:
        At most 1, negative if the system makes errors; undefined if nothing is wrong without it.
    """
    if wrong.shape != wrong_without.shape:
        raise DataError(f"epr: {wrong.shape} outcomes with and {wrong_without.shape} without, give pairs")
    if not wrong_without.any():
        return Estimate(None, None, None, int(wrong.size))
    pairs = np.stack([wrong, wrong_without], axis=1).astype(np.float64)
    return bootstrap(pairs, rng, _reduction, clusters)


def msr(resolved: BoolArray, detected: BoolArray) -> Estimate:
    """Mitigation success rate: resolved among DETECTED true cascades (VI-D); Wilson interval."""
    return _share(resolved[detected])


def type_confusion(
    true_types: Sequence[str], inferred: Sequence[str], names: Sequence[str] = CASCADE_TYPES
) -> npt.NDArray[np.int64]:
    """Injected type by inferred type, counts of shape (k, k + 1); the last column: not flagged.

    Raises:
        ConfigError: A type that is not among the names.
    """
    columns = (*names, NO_TYPE)
    counts = np.zeros((len(names), len(columns)), dtype=np.int64)
    for true, found in zip(true_types, inferred, strict=True):
        require_choice("cascade type", true, names)
        require_choice("inferred type", found, columns)
        counts[list(names).index(true), columns.index(found)] += 1
    return counts


def type_accuracy(true_types: Sequence[str], inferred: Sequence[str]) -> Estimate:
    """Share of FLAGGED cascades whose inferred type is the injected one; Wilson interval."""
    pairs = [(t, f) for t, f in zip(true_types, inferred, strict=True) if f != NO_TYPE]
    return wilson(sum(t == f for t, f in pairs), len(pairs))


def routing_shares(actions: npt.NDArray[np.str_]) -> dict[str, Estimate]:
    """Share of each route among FLAGGED trajectories (those with an action); Wilson intervals.

    Args:
        actions: Shape (n,), ``Verdicts.route`` or ``Verdicts.action``, "" where nothing is flagged.
    """
    flagged = actions[actions != NO_TYPE]
    return {name: _share(flagged == name) for name in (*ROUTES, HUMAN)}


@dataclass(frozen=True, slots=True)
class Lemma1:
    """Do injected cascades pass a per-step detector (paper 1, III-E)?

    Attributes:
        transitions: Share of stage transitions after the injection that pass; ``n`` counts transitions, the
            BCa interval resamples trajectories (or questions).
        trajectories: Share of trajectories that pass at every one of theirs; Wilson interval.
        n_missing: Trajectories left out: a transition of theirs has no score, or there is none.
    """

    transitions: Estimate
    trajectories: Estimate
    n_missing: int


def lemma1(
    scores: StageScores,
    injected: IntArray,
    rng: np.random.Generator,
    tau: float = 0.72,
    clusters: Sequence[object] | None = None,
) -> Lemma1:
    """Test Lemma 1 with the detector :func:`faultline.charm.controls.per_step`: to pass is not to be flagged.

    Args:
        scores: Of injected trajectories.
        injected: Shape (n,), 1-based injection stage i; transitions are those into stages i + 1 and later.
        rng: Source of the resamples.
        tau: The detector's threshold.
        clusters: Shape (n,), question ids.
    """
    after = scores.present & (np.arange(1, scores.stages + 1)[None, :] > injected[:, None])
    unscored = after & np.isnan(scores.entailment_previous)
    kept = np.asarray(after.any(axis=1) & ~unscored.any(axis=1))
    passed = (after & ~per_step(scores, tau))[kept].sum(axis=1)
    total = after[kept].sum(axis=1)
    groups = None if clusters is None else [c for c, yes in zip(clusters, kept, strict=True) if yes]
    counts = np.stack([passed, total], axis=1).astype(np.float64)
    transitions = bootstrap(counts, rng, lambda means: means[..., 0] / means[..., 1], groups)
    return Lemma1(
        transitions=replace(transitions, n=int(total.sum())),
        trajectories=_share(passed == total),
        n_missing=int((~kept).sum()),
    )


def _reduction(means: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        reduced: FloatArray = 1.0 - means[..., 0] / means[..., 1]
    return reduced


def _share(hits: BoolArray) -> Estimate:
    return wilson(int(np.count_nonzero(hits)), int(hits.size))

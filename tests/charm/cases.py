"""Random scores for the tests of this room."""

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from faultline.charm.cpm import MAPS as CPM_MAPS
from faultline.charm.cpm import MONITORS, CpmSettings
from faultline.charm.csct import MAPS as CSCT_MAPS
from faultline.charm.csct import REFERENCES, CsctSettings
from faultline.charm.decide import CharmSettings
from faultline.charm.routing import GATES, RoutingSettings
from faultline.charm.scores import StageScores
from faultline.charm.sfv import ANCHORS, SfvSettings
from faultline.charm.sfv import MAPS as SFV_MAPS
from faultline.charm.trigger import COMPONENTS, TriggerSettings

COLUMNS = ("similarity_previous", "similarity_first", "similarity_mean", "confidence", "entailment_previous")


def random_scores(seed: int, n: int, stages: int = 5, missing: float = 0.15) -> StageScores:
    """Valid scores: some stages absent, some scores missing, some rows without any confidence."""
    rng = np.random.default_rng(seed)
    present = rng.random((n, stages)) >= missing
    present[:, 0] = True

    def holes(values, first):
        gone = ~present | (rng.random((n, stages)) < missing / 2)
        gone[:, 0] |= first
        return np.where(gone.reshape(gone.shape + (1,) * (values.ndim - 2)), np.nan, values)

    shape = (n, stages)
    confidence = holes(rng.random(shape), False)
    confidence[rng.random(n) < missing] = np.nan
    return StageScores(
        present=present,
        top1=holes(rng.dirichlet((1, 0.5, 0.5), shape), True),
        consensus=holes(rng.dirichlet((1, 0.5, 0.5), shape), False),
        similarity_previous=holes(rng.uniform(-0.2, 1, shape), True),
        similarity_first=holes(rng.uniform(-0.2, 1, shape), True),
        similarity_mean=holes(rng.uniform(-0.2, 1, shape), True),
        confidence=confidence,
        entailment_previous=holes(rng.random(shape), True),
    )


def plain_scores(entailment, similarity, confidence, contradiction=None) -> StageScores:
    """Scores of all-present rows from (n, S) lists; both anchors agree, all similarities agree."""
    e = np.asarray(entailment, dtype=np.float64)
    c = np.zeros_like(e) if contradiction is None else np.asarray(contradiction, dtype=np.float64)
    similarity = np.array(similarity, dtype=np.float64)
    similarity[:, 0] = np.nan
    triple = np.stack([e, 1 - e - c, c], axis=-1)
    top1 = triple.copy()
    top1[:, 0] = np.nan
    step = e.copy()
    step[:, 0] = np.nan
    return StageScores(
        present=np.ones(e.shape, dtype=bool),
        top1=top1,
        consensus=triple,
        similarity_previous=similarity,
        similarity_first=similarity,
        similarity_mean=similarity,
        confidence=np.broadcast_to(np.asarray(confidence, dtype=np.float64), e.shape),
        entailment_previous=step,
    )


def every_signal_option() -> Iterator[CharmSettings]:
    """All 900 combinations of anchors, references, monitors and maps."""
    for anchor, sfv, reference, csct, monitor, cpm in product(
        ANCHORS, SFV_MAPS, REFERENCES, CSCT_MAPS, MONITORS, CPM_MAPS
    ):
        yield CharmSettings(
            sfv=SfvSettings(anchor, sfv),
            csct=CsctSettings(reference, csct),
            cpm=CpmSettings(monitor, cpm),
        )


def every_trigger_option() -> Iterator[CharmSettings]:
    """All subsets of components, renormalised or not, strict or not, every gate."""
    subsets = [c for size in (1, 2, 3) for c in combinations(COMPONENTS, size)]
    for components, renormalise, strict, gate in product(subsets, (False, True), (False, True), GATES):
        yield CharmSettings(
            trigger=TriggerSettings(theta=0.4, strict=strict, renormalise=renormalise, components=components),
            routing=RoutingSettings(gate_on=gate, gate=0.5),
        )

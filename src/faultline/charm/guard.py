"""CHARM around a live pipeline: a stage goes in as it is finished, a verdict comes out (paper 1, IV-C, IV-D).

The guard runs the batch code on one row, so that what was measured offline is what runs here.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from faultline.charm.calibration_file import load
from faultline.charm.csct import csct_signal
from faultline.charm.decide import CharmSettings
from faultline.charm.guard_models import Pair, Scoring, embedded
from faultline.charm.options import require_choice
from faultline.charm.scores import StageScores
from faultline.charm.scoring import CONFIDENCE, CONSENSUS, Requests, assemble, consensus_anchors, requests
from faultline.charm.verdict import Evidence, Verdict, deciding_anchor, verdict_at
from faultline.codec import decode, encode
from faultline.errors import ConfigError, DataError
from faultline.records import Stage, Trajectory


@dataclass(frozen=True, slots=True)
class GuardOptions:
    """How stages become scores; all that a verdict depends on besides the models.

    Attributes:
        settings: Thresholds and readings.
        consensus: ``concat``, ``centroid_sentences`` or ``others`` (see :func:`consensus_anchors`).
        consensus_k: Retrieved candidates in the consensus anchor.
        confidence: ``logprobs`` or ``stated``.
        states_confidence: Whether the backbone states confidences at all. None: as soon as one was seen, so
            that the monitor may change from contradiction to confidence in the middle of a trajectory.

    Raises:
        ConfigError: An unknown or impossible value.
    """

    settings: CharmSettings = field(default_factory=CharmSettings)
    consensus: str = "concat"
    consensus_k: int = 3
    confidence: str = "logprobs"
    states_confidence: bool | None = None

    def __post_init__(self) -> None:
        require_choice("guard.consensus", self.consensus, CONSENSUS)
        require_choice("guard.confidence", self.confidence, CONFIDENCE)
        if self.consensus_k < 1:
            raise ConfigError(f"guard.consensus_k={self.consensus_k}: must be at least 1")


def calibrated(path: str | Path, models: Scoring, options: GuardOptions | None = None) -> GuardOptions:
    """Options with the thresholds of a calibration file, for the models that they were fitted on.

    Args:
        path: Of a file that :func:`faultline.charm.calibration_file.save` wrote.
        models: What will score.
        options: The other options; routing and profiles stay theirs.

    Raises:
        DataError: The file is absent, broken, edited, or not fitted on train files.
        ModelError: Fitted for other models: thresholds do not carry over, so this is no warning.
    """
    base = options or GuardOptions()
    digests = models.digests
    fitted = load(Path(path), nli_sha256=digests["nli"], embedder_sha256=digests["embedder"])
    return replace(base, settings=fitted.settings(base.settings))


class Guard:
    """Watches one trajectory; several guards may share their models, each in any thread.

    Args:
        models: Verifier and embedder; the embedded ones by default.
        options: Thresholds and readings; the paper's by default.
        trajectory: Id of the trajectory, for logs.
    """

    version = 1

    def __init__(
        self, models: Scoring | None = None, options: GuardOptions | None = None, trajectory: str = ""
    ) -> None:
        self.models: Scoring = embedded() if models is None else models
        self.options = options or GuardOptions()
        self.trajectory = trajectory
        self._lock = threading.RLock()
        self._stages: list[Stage] = []
        self._unscored: set[int] = set()
        self._anchor: str | None = None
        self._pairs: dict[Pair, tuple[float, float, float]] = {}
        self._texts: dict[str, Any] = {}

    def open(self, trajectory: str) -> Guard:
        """A new guard for another trajectory over the same models and options."""
        return Guard(self.models, self.options, trajectory)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What was observed so far."""
        return tuple(self._stages)

    def observe(self, stage: Stage) -> Verdict:
        """Judge the next stage and keep it.

        Args:
            stage: Its ``index`` is one more than the stages so far.

        Raises:
            DataError: Another index. The trajectory stays as it was, as it does if a model fails.
        """
        with self._lock:
            verdict, commit = self.assess(stage)
            commit()
            return verdict

    async def aobserve(self, stage: Stage) -> Verdict:
        """:meth:`observe` in a worker thread."""
        return await asyncio.to_thread(self.observe, stage)

    def assess(self, stage: Stage) -> tuple[Verdict, Any]:
        """The verdict on a next stage, and a function that keeps the stage (not called: nothing changed).

        Raises:
            DataError: The index is not the next one.
        """
        with self._lock:
            stages, unscored = [*self._stages, stage], frozenset(self._unscored)
            pairs, texts, anchor = dict(self._pairs), dict(self._texts), self._anchor
        if stage.index != len(stages):
            raise DataError(f"guard {self.trajectory}: stage {stage.index} came, {len(stages)} is the next")
        row = _row(self.trajectory, stages)
        if anchor is None:
            anchor = self._consensus(row)
        asked = self._needed(row, anchor, unscored)
        self._fill(asked, pairs, texts)
        scores = self._scores(row, asked, pairs, texts)
        verdict = verdict_at(scores, self.options.settings, self._evidence(scores, stages, anchor))
        known = anchor

        def commit() -> None:
            with self._lock:
                self._stages, self._pairs, self._texts, self._anchor = stages, pairs, texts, known

        return verdict, commit

    def skip(self, stage: Stage) -> None:
        """Keep a stage that could not be judged (a timeout): it has no score, and none is made up."""
        with self._lock:
            if stage.index != len(self._stages) + 1:
                raise DataError(
                    f"guard {self.trajectory}: stage {stage.index} came, {len(self._stages) + 1} is the next"
                )
            self._stages = [*self._stages, stage]
            self._unscored.add(stage.index)

    def rollback(self, stage: int) -> None:
        """Forget everything after a stage (1-based, 0 for all): it is about to be executed again.

        Raises:
            DataError: There is no such stage.
        """
        with self._lock:
            if not 0 <= stage <= len(self._stages):
                raise DataError(f"guard {self.trajectory}: no stage {stage} of {len(self._stages)}")
            self._stages = self._stages[:stage]
            self._unscored = {index for index in self._unscored if index <= stage}
            if stage == 0:
                self._anchor = None
            kept = {s.text for s in self._stages}
            self._texts = {text: row for text, row in self._texts.items() if text in kept}
            self._pairs = {pair: triple for pair, triple in self._pairs.items() if pair[1] in kept}

    def last_clean(self) -> int:
        """The last stage before the newest that CSCT does not find drifting, 0 if none (PRR, M4)."""
        with self._lock:
            scores = self.scores()
            signal = csct_signal(scores, self.options.settings.csct)[0]
        earlier = [i + 1 for i in range(len(signal) - 1) if signal[i] == 0.0]
        return earlier[-1] if earlier else 0

    def scores(self) -> StageScores:
        """The scores of all stages so far, one row; needs no model."""
        with self._lock:
            row = _row(self.trajectory, self._stages)
            asked = self._needed(row, self._anchor or "", frozenset(self._unscored))
            return self._scores(row, asked, self._pairs, self._texts)

    def dump(self) -> bytes:
        """Everything that the next verdict depends on, as JSON (texts included)."""
        with self._lock:
            return encode(
                {
                    "version": self.version,
                    "trajectory": self.trajectory,
                    "digests": self.models.digests,
                    "stages": self._stages,
                    "unscored": sorted(self._unscored),
                    "anchor": self._anchor,
                    "pairs": [[*pair, *triple] for pair, triple in self._pairs.items()],
                    "texts": [[text, [float(x) for x in row]] for text, row in self._texts.items()],
                }
            )

    def load(self, data: bytes | str) -> Guard:
        """A guard over these models and options that goes on where :meth:`dump` stopped.

        Raises:
            DataError: Not a dump, of another version, or scored by other models.
        """
        try:
            raw = orjson.loads(data)
            version, digests = raw["version"], raw["digests"]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError("guard state: not a dump of Guard.dump; start the trajectory again") from error
        if version != self.version or digests != self.models.digests:
            raise DataError(
                f"guard state: version {version} with models {digests}, here {self.version} with "
                f"{self.models.digests}; use the same models, or start the trajectory again"
            )
        guard = self.open(str(raw["trajectory"]))
        guard._stages = [decode(Stage, stage) for stage in raw["stages"]]
        guard._unscored = {int(index) for index in raw["unscored"]}
        guard._anchor = raw["anchor"]
        guard._pairs = {(p, h): (e, n, c) for p, h, e, n, c in raw["pairs"]}
        guard._texts = {text: np.asarray(row, dtype=np.float32) for text, row in raw["texts"]}
        return guard

    def _consensus(self, row: Trajectory) -> str:
        def encoded(texts: Sequence[str]) -> Any:
            return self.models.score([], texts)[1]

        return consensus_anchors([row], self.options.consensus_k, self.options.consensus, encoded)[0]

    def _needed(self, row: Trajectory, anchor: str, unscored: frozenset[int]) -> Requests:
        """What :func:`requests` lists, without what no decision reads."""
        asked = requests([row], [anchor])
        used = self.options.settings.sfv.anchor
        # Stage 1 is always judged by the consensus where contradiction stands in for confidence.
        wanted = [
            (name == used or used == "both" or (name == "consensus" and column == 0))
            and name != "previous"
            and column + 1 not in unscored
            for name, _, column in asked.places
        ]
        kept = [column + 1 not in unscored for _, column in asked.text_places]
        return Requests(
            [pair for pair, keep in zip(asked.pairs, wanted, strict=True) if keep],
            [place for place, keep in zip(asked.places, wanted, strict=True) if keep],
            [text for text, keep in zip(asked.texts, kept, strict=True) if keep],
            [place for place, keep in zip(asked.text_places, kept, strict=True) if keep],
            asked.shape,
        )

    def _fill(self, asked: Requests, pairs: dict[Pair, Any], texts: dict[str, Any]) -> None:
        new_pairs = list(dict.fromkeys(pair for pair in asked.pairs if pair not in pairs))
        new_texts = list(dict.fromkeys(text for text in asked.texts if text not in texts))
        if not new_pairs and not new_texts:
            return
        probabilities, rows = self.models.score(new_pairs, new_texts)
        pairs.update(
            zip(new_pairs, ((float(e), float(n), float(c)) for e, n, c in probabilities), strict=True)
        )
        texts.update(zip(new_texts, rows, strict=True))

    def _scores(
        self, row: Trajectory, asked: Requests, pairs: dict[Pair, Any], texts: dict[str, Any]
    ) -> StageScores:
        probabilities = np.array([pairs[pair] for pair in asked.pairs], dtype=np.float64).reshape(-1, 3)
        rows = np.stack([texts[t] for t in asked.texts]) if asked.texts else np.empty((0, 0), np.float32)
        scores = assemble([row], asked, probabilities, rows, self.options.confidence)
        if self.options.states_confidence is None:
            return scores
        return replace(scores, states_confidence=np.array([self.options.states_confidence]))

    def _evidence(self, scores: StageScores, stages: Sequence[Stage], anchor: str) -> Evidence:
        name = deciding_anchor(scores, self.options.settings.sfv.anchor)
        return Evidence(stages[-1].text, {"top1": stages[0].text, "consensus": anchor}.get(name, ""), name)


def _row(name: str, stages: Sequence[Stage]) -> Trajectory:
    return Trajectory(name, "live", name, "live", 0, "", tuple(stages), None, "live")

"""The monitor beside a pipeline: what happens when it fails, and what is written down.

Nothing in here raises into the pipeline: a monitor that breaks, hangs or cannot write its log gives a typed
failure, and the policy says whether the pipeline goes on (``fail_open``) or holds (``fail_closed``).
"""

from __future__ import annotations

import hashlib
import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from faultline.charm.guard import Guard, GuardOptions
from faultline.charm.guard_models import Scoring
from faultline.charm.options import require_above, require_choice
from faultline.charm.routing import HUMAN
from faultline.charm.verdict import Verdict
from faultline.errors import ConfigError, FaultlineError
from faultline.live.audit import NIST, AuditLog
from faultline.records import Stage

POLICIES = ("fail_open", "fail_closed")
RUNNING = 8
"""Judgements at once by default."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the monitor has to say of a stage.

    Attributes:
        verdict: None if the monitor failed.
        failure: Why it failed (``timeout``, ``busy``, ``audit``, or the kind of error), else empty.
        held: Whether the policy stops the pipeline because of the failure.
    """

    verdict: Verdict | None
    failure: str = ""
    held: bool = False

    @property
    def action(self) -> str:
        """The verdict's action; ``HITL`` if the policy holds the pipeline, empty if all is well."""
        if self.held:
            return HUMAN
        return self.verdict.action if self.verdict is not None else ""

    @property
    def flagged(self) -> bool:
        """Whether something must be done."""
        return self.action != ""


@dataclass(slots=True)
class Open:
    """An open trajectory.

    Attributes:
        guard: Its guard.
        used: When it was last asked for (monotonic seconds).
        turn: One stage at a time: parallel nodes of a pipeline are judged one after the other.
        marks: Steps of the pipeline at which it was judged: number, name, stages before it.
    """

    guard: Guard
    used: float
    turn: threading.Lock = field(default_factory=threading.Lock)
    marks: list[tuple[int, str, int]] = field(default_factory=list)


class Watch:
    """Guards of many trajectories with one policy and one audit log.

    Args:
        on_failure: ``fail_open`` or ``fail_closed``; there is no default.
        models: Verifier and embedder; the embedded ones by default.
        options: Thresholds and readings.
        timeout_s: A judgement that takes longer is a failure; the pipeline waits no longer than that.
        audit: Where decisions are written, None for nowhere.
        max_open: Open trajectories at most; a further one is a failure (``too_many_open``).
        idle_s: Where there is no room for a further one, the one that was not asked for the longest is
            forgotten, if that was so many seconds ago: pipelines die without closing.
        running: Judgements at once at most, hung ones included; a further one is a failure (``busy``)
            instead of one more thread. Behind a :class:`faultline.live.batching.MicroBatcher` give at least
            as many as threads of the pipeline observe at once, else batches cannot fill.

    Raises:
        ConfigError: An unknown policy or impossible limit.
    """

    def __init__(
        self,
        on_failure: str,
        models: Scoring | None = None,
        options: GuardOptions | None = None,
        *,
        timeout_s: float = 10.0,
        audit: AuditLog | None = None,
        max_open: int = 10_000,
        idle_s: float = 3600.0,
        running: int = RUNNING,
    ) -> None:
        require_choice("watch.on_failure", on_failure, POLICIES)
        require_above("watch.timeout_s", timeout_s, 0.0)
        if max_open < 1 or running < 1:
            raise ConfigError(f"watch.max_open={max_open}, running={running}: must be at least 1")
        self.on_failure, self.timeout_s, self.audit, self.max_open = on_failure, timeout_s, audit, max_open
        self.failures = 0
        self._first = Guard(models, options)
        self._open: OrderedDict[str, Open] = OrderedDict()
        self._idle = idle_s
        self._lock = threading.Lock()
        self._running = threading.BoundedSemaphore(running)

    @property
    def options(self) -> GuardOptions:
        """Thresholds and readings."""
        return self._first.options

    @property
    def digests(self) -> dict[str, str]:
        """Weight digests of the models, by role."""
        return self._first.models.digests

    @property
    def open_trajectories(self) -> int:
        """How many are open."""
        return len(self._open)

    def guard(self, trajectory: str) -> Guard:
        """The guard of a trajectory, opened if need be.

        Raises:
            ConfigError: Too many are open.
        """
        return self._opened(trajectory).guard

    def _opened(self, trajectory: str) -> Open:
        now = time.monotonic()
        with self._lock:
            found = self._open.get(trajectory)
            if found is None:
                self._make_room(now)
                found = self._open[trajectory] = Open(self._first.open(trajectory), now)
            found.used = now
            self._open.move_to_end(trajectory)
            return found

    def _make_room(self, now: float) -> None:
        if len(self._open) < self.max_open:
            return
        oldest, entry = next(iter(self._open.items()))
        if now - entry.used < self._idle:
            raise ConfigError(f"watch: {self.max_open} trajectories are open; close finished ones")
        del self._open[oldest]
        log.warning("watch: a trajectory that was idle for %.0f s was forgotten", now - entry.used)

    def load(self, trajectory: str, dump: bytes | str) -> Guard:
        """The guard of a trajectory as it was dumped (by another process, perhaps)."""
        loaded = self._first.load(dump)
        with self._lock:
            self._open[trajectory] = Open(loaded, time.monotonic())
        return loaded

    def close(self, trajectory: str) -> None:
        """Forget a finished trajectory."""
        with self._lock:
            self._open.pop(trajectory, None)

    def rewind(self, trajectory: str, step: int, name: str) -> None:
        """A pipeline that counts its steps is at one: what was judged at this step or later is forgotten.

        A pipeline that is run again counts from its start. Nodes that run in parallel give the same step and
        name.

        Args:
            trajectory: Its id.
            step: Number of the step.
            name: Of this execution of the step.
        """
        entry = self._opened(trajectory)
        with entry.turn:
            if not entry.marks or entry.marks[-1][:2] != (step, name):
                again = next((i for i, mark in enumerate(entry.marks) if mark[0] >= step), None)
                if again is not None:
                    entry.guard.rollback(min(entry.marks[again][2], len(entry.guard.stages)))
                    del entry.marks[again:]
                entry.marks.append((step, name, len(entry.guard.stages)))

    def observe(self, trajectory: str, stage: Stage, *, record: bool = True) -> Seen:
        """Judge a stage, write the decision down, and never raise.

        Args:
            trajectory: Its id.
            stage: Finished; its index is set here to the next one.
            record: False for a stage whose decision is in the log already.
        """
        try:
            entry = self._opened(trajectory)
        except FaultlineError:
            return self._failed(trajectory, stage, "too_many_open")
        if not entry.turn.acquire(timeout=self.timeout_s):
            return self._failed(trajectory, stage, "busy")
        try:
            return self._observe(entry.guard, trajectory, stage, record)
        except Exception as error:  # noqa: BLE001 - the promise of this method
            return self._failed(trajectory, stage, type(error).__name__)
        finally:
            entry.turn.release()

    def _observe(self, guard: Guard, trajectory: str, stage: Stage, record: bool) -> Seen:
        stage = replace(stage, index=len(guard.stages) + 1)
        judged = self._judge(guard, stage)
        if isinstance(judged, str):
            guard.skip(stage)
            return self._failed(trajectory, stage, judged)
        fields, texts = verdict_fields(judged, stage, self), verdict_texts(judged)
        if record and not self.note("verdict", trajectory, fields, texts):
            return self._failed(trajectory, stage, "audit", judged)
        return Seen(judged)

    def note(
        self, event: str, trajectory: str, fields: Mapping[str, Any], texts: Mapping[str, str] | None = None
    ) -> bool:
        """Write one record to the audit log; False (and counted) if that cannot be done."""
        if self.audit is None:
            return True
        try:
            self.audit.append(event, {"trajectory": trajectory, **fields}, texts)
        except Exception as error:  # noqa: BLE001 - a full disk must not stop the pipeline
            self.failures += 1
            log.warning("audit log: %s was not written (%s)", event, type(error).__name__)
            return False
        return True

    def _judge(self, guard: Guard, stage: Stage) -> Verdict | str:
        """The verdict, or why there is none; a judgement that comes too late is thrown away."""
        if not self._running.acquire(blocking=False):
            return "busy"
        answer: queue.Queue[tuple[Verdict, Callable[[], None]] | str] = queue.Queue(maxsize=1)

        def work() -> None:
            found: tuple[Verdict, Callable[[], None]] | str
            try:
                found = guard.assess(stage)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it stays in here
                # The message may quote a prompt or a key: only its kind leaves.
                found = type(error).__name__
            # Before the answer: who gets it may ask again at once, and must find the place free.
            self._running.release()
            answer.put(found)

        threading.Thread(target=work, name="faultline-guard", daemon=True).start()
        try:
            found = answer.get(timeout=self.timeout_s)
        except queue.Empty:
            return "timeout"
        if isinstance(found, str):
            return found
        verdict, commit = found
        commit()
        return verdict

    def failed(self, trajectory: str, why: str) -> bool:
        """Count and write down a failure outside of a judgement; whether the policy holds the pipeline."""
        self.failures += 1
        held = self.on_failure == "fail_closed"
        fields = {"reason": why, "policy": self.on_failure, "held": held, "models": self.digests}
        self.note("failure", trajectory, fields)
        return held

    def _failed(self, trajectory: str, stage: Stage, why: str, verdict: Verdict | None = None) -> Seen:
        self.failures += 1
        held = self.on_failure == "fail_closed"
        fields = {"stage": stage.index, "kind": stage.kind, "reason": why, "policy": self.on_failure}
        if why != "audit":
            self.note("failure", trajectory, {**fields, "held": held, "models": self.digests})
        return Seen(verdict, why, held)


def verdict_fields(verdict: Verdict, stage: Stage, watch: Watch) -> dict[str, Any]:
    """A verdict as audit fields: numbers and names, no text of the pipeline."""
    options = watch.options
    return {
        "stage": verdict.stage,
        "kind": stage.kind,
        "score": verdict.score,
        "signals": verdict.signals,
        "flagged": verdict.flagged,
        "type": verdict.cascade_type,
        "route": verdict.route,
        "action": verdict.action,
        "human": verdict.human,
        "confidence": verdict.confidence,
        "entailment": verdict.evidence.entailment,
        "contradiction": verdict.evidence.contradiction,
        "reasons": list(verdict.reasons),
        "inputs": {
            "query": _hash(stage.query),
            "hits": [_hash(hit.passage.rendered) for hit in stage.hits],
        },
        "thresholds": asdict(options.settings),
        "readings": {
            "consensus": options.consensus,
            "consensus_k": options.consensus_k,
            "confidence": options.confidence,
        },
        "models": watch.digests,
        "policy": watch.on_failure,
        "nist": {
            name: {"functions": list(functions), "risk": risk} for name, (functions, risk) in NIST.items()
        },
    }


def verdict_texts(verdict: Verdict) -> dict[str, str]:
    """The texts that a verdict is about."""
    return {"claim": verdict.evidence.claim, "passage": verdict.evidence.passage}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()

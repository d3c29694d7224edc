"""Overhead of the live guard: milliseconds a stage at batch 1, and throughput with many open trajectories.

Wall time depends on who else uses the machine; the process's own CPU time stands beside it. Nothing is
cached.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from experiments.charm_eval import settings_of
from experiments.charm_population import load_corpus, run_study
from experiments.charm_rows import Names, Sheet
from experiments.models import identity, resolved
from faultline.charm.decide import CharmSettings
from faultline.charm.guard import Guard, GuardOptions
from faultline.charm.guard_models import Models, Scoring
from faultline.charm.verdict import Verdict
from faultline.errors import DataError
from faultline.live.batching import MicroBatcher
from faultline.live.watch import Watch
from faultline.records import Stage, Trajectory
from faultline.reporting.run_context import Outcome, RunContext
from faultline.stats import Estimate, wilson

VERSION = 3
OPTIONS = frozenset({"limit", "seed", "corpora", "retrieval", "agent", "nli", "embedder", "charm", "bench"})
Observe = Callable[[Stage], Verdict | None]
PAPER_MS = 215.0
"""LO/s of the paper's full row (Table IV), on an A100."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to run the guard."""

    anchor: str
    precision: str
    models: Models
    options: GuardOptions
    watched: bool = False

    @property
    def name(self) -> str:
        """As in the condition of a row."""
        return f"anchor={self.anchor};precision={self.precision}" + (";watch" if self.watched else "")


def inputs(cfg: DictConfig) -> dict[str, Any]:
    """What the run depends on besides its configuration (timings depend on the machine too: manifest)."""
    return {
        "corpus": load_corpus(cfg).digest,
        "version": VERSION,
        "nli": identity(cfg.nli)["sha256"],
        "embedder": identity(cfg.embedder)["sha256"],
    }


def plan(cfg: DictConfig) -> list[str]:
    """What a run would do."""
    return [
        f"time: every stage of {cfg.limit} trajectories in each mode, batch 1, {cfg.bench.threads} threads",
        f"load: {cfg.bench.waves} waves of {cfg.bench.open} open trajectories, {cfg.bench.workers} threads, "
        "micro-batches",
        "pay: nothing",
    ]


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Run the experiment."""
    import torch

    study = run_study(cfg, context, lambda: None)
    trajectories = [t for t in study.trajectories if t.certificate is None]
    if not trajectories:
        raise DataError(f"{study.corpus.name}: no trajectory was made; raise limit")
    before = torch.get_num_threads()
    torch.set_num_threads(cfg.bench.threads)
    models = _models(cfg)
    exact = models["fp32"]
    settings = settings_of(cfg)
    both = GuardOptions(settings, cfg.charm.consensus, cfg.charm.consensus_k, cfg.charm.confidence)
    names = Names(
        experiment=context.experiment,
        dataset=study.corpus.name,
        backbone=trajectories[0].backbone,
        nli=f"{exact.verifier.name}@{exact.verifier.digest}",  # type: ignore[attr-defined]
        embedder=f"{exact.embedder.name}@{exact.embedder.digest}",  # type: ignore[attr-defined]
    )
    sheet = Sheet(names)
    try:
        modes = _modes(models, both)
        stages = sum(len(t.stages) for t in trajectories)
        said: dict[str, list[Verdict | None]] = {}
        with context.progress("stages, one at a time", stages * len(modes)) as advance:
            for mode in modes:
                said[mode.name] = _overhead(sheet, mode, trajectories, cfg, advance)
        for mode in modes:
            if mode.precision != "fp32":
                _parity(sheet, mode, said[mode.name], said[replace(mode, precision="fp32").name])
        _decide_alone(sheet, exact, both.settings, trajectories)
        stages = cfg.bench.waves * cfg.bench.open * _rounds(trajectories, cfg)
        with context.progress("stages, many open", stages) as advance:
            _load(sheet, exact, both, trajectories, cfg, advance)
    finally:
        torch.set_num_threads(before)
    return Outcome(
        rows=sheet.rows,
        manifest={
            "data": {"name": study.corpus.name, "sha256": study.corpus.digest},
            "models": {"nli": identity(cfg.nli), "embedder": identity(cfg.embedder)},
            "threads": cfg.bench.threads,
            "load_average": list(os.getloadavg()),
        },
    )


def summary(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What is printed."""
    shown = table[["table", "metric", "condition", "value", "unit", "n_scored", "note"]]
    return {f"Live guard (paper: {PAPER_MS:g} ms a stage on an A100)": shown.round(3).reset_index(drop=True)}


def _models(cfg: DictConfig) -> dict[str, Models]:
    """Scorers without a score cache, by precision; the weights are read once."""
    from faultline.inference.checkpoints import load_classifier, load_embedder
    from faultline.inference.embed import EmbeddingScorer
    from faultline.inference.nli import NliScorer

    nli, embedder = load_classifier(resolved(cfg.nli)), load_embedder(resolved(cfg.embedder))
    budget = int(cfg.bench.token_budget)
    return {
        precision: Models(
            NliScorer(nli, precision, budget), EmbeddingScorer(embedder, precision, budget), precision
        )
        for precision in dict.fromkeys(("fp32", *map(str, cfg.bench.precisions)))
    }


def _modes(models: Mapping[str, Models], both: GuardOptions) -> list[Mode]:
    """What is timed: anchors and precision, and once with the failure policy's thread in between."""
    top1 = replace(both, settings=replace(both.settings, sfv=replace(both.settings.sfv, anchor="top1")))
    found = [Mode("both", "fp32", models["fp32"], both, watched=True)]
    for precision, used in models.items():
        found += [Mode("both", precision, used, both), Mode("top1", precision, used, top1)]
    return found


def _observer(mode: Mode) -> Callable[[Trajectory], Observe]:
    """Begins a trajectory; what it gives judges that trajectory's stages."""
    if mode.watched:
        watch = Watch("fail_open", mode.models, mode.options, timeout_s=600)
        return lambda trajectory: lambda stage: watch.observe(trajectory.id, stage).verdict
    first = Guard(mode.models, mode.options)
    return lambda trajectory: first.open(trajectory.id).observe


def _overhead(
    sheet: Sheet,
    mode: Mode,
    trajectories: Sequence[Trajectory],
    cfg: DictConfig,
    advance: Callable[[int], None],
) -> list[Verdict | None]:
    """Wall and CPU milliseconds of every stage; returns the verdicts."""
    begin = _observer(mode)
    wall, cpu, said = [], [], []
    for trajectory in trajectories:
        observe = begin(trajectory)
        for stage in trajectory.stages:
            clock = (time.perf_counter(), time.process_time())
            said.append(observe(stage))
            wall.append(1000 * (time.perf_counter() - clock[0]))
            cpu.append(1000 * (time.process_time() - clock[1]))
        advance(len(trajectory.stages))
    skipped = min(cfg.bench.warm_up, len(wall) - 1)
    for metric, values in (("wall", wall[skipped:]), ("cpu", cpu[skipped:])):
        for name, q in (("p50", 50), ("p99", 99)):
            condition = f"{mode.name};threads={cfg.bench.threads}"
            value = Estimate(float(np.percentile(values, q)), None, None, len(values))
            note = f"first {skipped} stages left out" if skipped else ""
            sheet.add("overhead", f"{metric}_{name}", "guard", condition, value, "ms", None, note)
    return said


def _parity(
    sheet: Sheet, mode: Mode, said: Sequence[Verdict | None], exact: Sequence[Verdict | None]
) -> None:
    """How far a precision's verdicts are from those of fp32 on the same stages."""
    known = [(a, b) for a, b in zip(said, exact, strict=True) if a and b]
    scored = [(a.score, b.score) for a, b in known if a.score is not None and b.score is not None]
    if not scored:
        return
    far = float(max(abs(x - y) for x, y in scored))
    flips = wilson(sum(a.flagged != b.flagged for a, b in known), len(known))
    lost = {"not_scored": len(said) - len(scored)}
    sheet.add(
        "parity", "flag_flips", "guard", mode.name, flips, "rate", {"no_verdict": len(said) - len(known)}
    )
    sheet.add(
        "parity", "max_abs_dp", "guard", mode.name, Estimate(far, None, None, len(scored)), "score", lost
    )


def _decide_alone(
    sheet: Sheet, models: Scoring, settings: CharmSettings, trajectories: Sequence[Trajectory]
) -> None:
    """What is left when the models answered before: the decision itself."""
    guard = Guard(models, GuardOptions(settings))
    times = []
    for stage in trajectories[0].stages:
        guard.observe(stage)
    for _ in range(20):
        for stage in trajectories[0].stages:
            # Another trajectory that knows the answers already.
            warm = guard.load(guard.dump())
            warm._stages = list(guard.stages[: stage.index - 1])
            clock = time.perf_counter()
            warm.observe(stage)
            times.append(1000 * (time.perf_counter() - clock))
    for name, q in (("p50", 50), ("p99", 99)):
        value = Estimate(float(np.percentile(times, q)), None, None, len(times))
        sheet.add("overhead", f"wall_{name}", "guard", "decide alone", value, "ms")


def _rounds(trajectories: Sequence[Trajectory], cfg: DictConfig) -> int:
    return min(int(cfg.bench.rounds), *(len(t.stages) for t in trajectories))


def _load(
    sheet: Sheet,
    models: Scoring,
    options: GuardOptions,
    trajectories: Sequence[Trajectory],
    cfg: DictConfig,
    advance: Callable[[int], None],
) -> None:
    """All trajectories of a wave are open at once and go forward a stage a round; their texts differ.

    A finished wave is closed and another one opened: what memory grows by between the ends of waves is lost.
    """
    bench = cfg.bench
    batcher = MicroBatcher(models, max_jobs=bench.workers, queued=2 * bench.workers)
    watch = Watch("fail_open", batcher, options, timeout_s=600, max_open=bench.open, running=bench.workers)
    rounds = _rounds(trajectories, cfg)
    memory, waits, marks = [resident_mb()], [], []
    start = time.perf_counter()
    with ThreadPoolExecutor(bench.workers) as pool:
        for wave in range(bench.waves):
            cases = [(f"{wave}/{i}", trajectories[i % len(trajectories)]) for i in range(bench.open)]
            for at in range(rounds):
                waits += list(pool.map(_step(watch, at), cases))
                memory.append(resident_mb())
                advance(len(cases))
            marks.append(watch.open_trajectories)
            for name, _ in cases:
                watch.close(name)
    seconds = time.perf_counter() - start
    batcher.close()
    done = bench.open * rounds * bench.waves
    ends = memory[rounds::rounds]
    values = {
        "open": (min(marks), "count", bench.waves),
        "failures": (watch.failures, "count", done),
        "stages_per_s": (done / seconds, "1/s", done),
        "stages_per_batch": (done / max(1, batcher.batches), "count", batcher.batches),
        "wait_p50": (float(np.percentile(waits, 50)), "ms", done),
        "wait_p99": (float(np.percentile(waits, 99)), "ms", done),
        "rss_start": (memory[0], "MB", 1),
        "rss_first_round": (memory[1], "MB", 1),
        "rss_first_wave": (ends[0], "MB", 1),
        "rss_last_wave": (ends[-1], "MB", 1),
        "kb_per_open_trajectory": (1000 * (ends[0] - memory[1]) / bench.open, "kB", bench.open),
    }
    condition = (
        f"open={bench.open};stages={rounds};waves={bench.waves};workers={bench.workers};"
        f"threads={bench.threads}"
    )
    for metric, (value, unit, n) in values.items():
        sheet.add("load", metric, "guard", condition, Estimate(float(value), None, None, n), unit)


def _step(watch: Watch, at: int) -> Callable[[tuple[str, Trajectory]], float]:
    def go(case: tuple[str, Trajectory]) -> float:
        name, trajectory = case
        stage = trajectory.stages[at]
        clock = time.perf_counter()
        # Another text in each trajectory, so that nothing is answered twice.
        watch.observe(name, replace(stage, text=f"{stage.text} (case {name})" if stage.text else ""))
        return 1000 * (time.perf_counter() - clock)

    return go


def resident_mb() -> float:
    """Resident memory of this process in MB; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, ValueError, IndexError):
        return 0.0

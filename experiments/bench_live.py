"""Overhead of the live guard: milliseconds a stage at batch 1, and throughput with many open trajectories.

Wall time depends on who else uses the machine; the process's own CPU time stands beside it. Nothing is
cached.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
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
from faultline.errors import DataError
from faultline.live.batching import MicroBatcher
from faultline.records import Trajectory
from faultline.reporting.run_context import Outcome, RunContext
from faultline.stats import Estimate

VERSION = 1
OPTIONS = frozenset({"limit", "seed", "corpora", "retrieval", "agent", "nli", "embedder", "charm", "bench"})
PAPER_MS = 215.0
"""LO/s of the paper's full row (Table IV), on an A100."""


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
        f"load: {cfg.bench.open} open trajectories, {cfg.bench.workers} threads, micro-batches",
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
    models, quantised = _models(cfg)
    settings = settings_of(cfg)
    both = GuardOptions(settings, cfg.charm.consensus, cfg.charm.consensus_k, cfg.charm.confidence)
    top1 = replace(both, settings=replace(settings, sfv=replace(settings.sfv, anchor="top1")))
    names = Names(
        experiment=context.experiment,
        dataset=study.corpus.name,
        backbone=trajectories[0].backbone,
        nli=f"{models.verifier.name}@{models.verifier.digest}",  # type: ignore[attr-defined]
        embedder=f"{models.embedder.name}@{models.embedder.digest}",  # type: ignore[attr-defined]
    )
    sheet = Sheet(names)
    try:
        for mode, used, options in (
            ("anchor=both;precision=fp32", models, both),
            ("anchor=top1;precision=fp32", models, top1),
            ("anchor=both;precision=int8", quantised, both),
            ("anchor=top1;precision=int8", quantised, top1),
        ):
            _overhead(sheet, mode, used, options, trajectories, cfg)
        _decide_alone(sheet, models, both.settings, trajectories)
        _load(sheet, models, both, trajectories, cfg)
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
    return {f"Live guard (paper: {PAPER_MS:g} ms a stage on an A100)": shown.round(2).reset_index(drop=True)}


def _models(cfg: DictConfig) -> tuple[Models, Models]:
    """Scorers without a score cache, in fp32 and with int8 linear layers in the verifier."""
    from faultline.inference.checkpoints import load_classifier, load_embedder
    from faultline.inference.embed import EmbeddingScorer
    from faultline.inference.nli import NliScorer

    loaded = load_classifier(resolved(cfg.nli))
    embedder = EmbeddingScorer(load_embedder(resolved(cfg.embedder)))
    fast = NliScorer(loaded, precision="int8")
    return Models(NliScorer(loaded), embedder), Models(fast, embedder)


def _overhead(
    sheet: Sheet,
    mode: str,
    models: Scoring,
    options: GuardOptions,
    trajectories: Sequence[Trajectory],
    cfg: DictConfig,
) -> None:
    """Wall and CPU milliseconds of every ``observe``."""
    first = Guard(models, options)
    wall, cpu = [], []
    for trajectory in trajectories:
        guard = first.open(trajectory.id)
        for stage in trajectory.stages:
            clock = (time.perf_counter(), time.process_time())
            guard.observe(stage)
            wall.append(1000 * (time.perf_counter() - clock[0]))
            cpu.append(1000 * (time.process_time() - clock[1]))
    skipped = min(cfg.bench.warm_up, len(wall) - 1)
    for metric, values in (("wall", wall[skipped:]), ("cpu", cpu[skipped:])):
        for name, q in (("p50", 50), ("p99", 99)):
            condition = f"{mode};threads={cfg.bench.threads}"
            value = Estimate(float(np.percentile(values, q)), None, None, len(values))
            note = f"first {skipped} stages left out" if skipped else ""
            sheet.add("overhead", f"{metric}_{name}", "guard", condition, value, "ms", None, note)


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


def _load(
    sheet: Sheet, models: Scoring, options: GuardOptions, trajectories: Sequence[Trajectory], cfg: DictConfig
) -> None:
    """All trajectories are open at once and go forward a stage a round; their texts differ."""
    batcher = MicroBatcher(models, max_jobs=cfg.bench.workers, queued=2 * cfg.bench.workers)
    first = Guard(batcher, options)
    rounds = min(cfg.bench.rounds, *(len(t.stages) for t in trajectories))
    opened = [(first.open(str(i)), trajectories[i % len(trajectories)]) for i in range(cfg.bench.open)]
    condition = (
        f"open={cfg.bench.open};stages={rounds};workers={cfg.bench.workers};threads={cfg.bench.threads}"
    )
    memory, waits = [resident_mb()], []
    start = time.perf_counter()
    with ThreadPoolExecutor(cfg.bench.workers) as pool:
        for at in range(rounds):
            waits += list(pool.map(_step(at), range(len(opened)), opened))
            memory.append(resident_mb())
    seconds = time.perf_counter() - start
    batcher.close()
    done = len(opened) * rounds
    values = {
        "stages_per_s": (done / seconds, "1/s", done),
        "stages_per_batch": (done / max(1, batcher.batches), "count", batcher.batches),
        "wait_p50": (float(np.percentile(waits, 50)), "ms", done),
        "wait_p99": (float(np.percentile(waits, 99)), "ms", done),
        "rss_start": (memory[0], "MB", 1),
        "rss_after_first_round": (memory[1], "MB", 1),
        "rss_after_last_round": (memory[-1], "MB", 1),
        "kb_per_open_trajectory": (1000 * (memory[-1] - memory[1]) / len(opened), "kB", len(opened)),
    }
    for metric, (value, unit, n) in values.items():
        sheet.add("load", metric, "guard", condition, Estimate(value, None, None, n), unit)


def _step(at: int) -> Callable[[int, tuple[Guard, Trajectory]], float]:
    def go(number: int, pair: tuple[Guard, Trajectory]) -> float:
        guard, trajectory = pair
        stage = trajectory.stages[at]
        clock = time.perf_counter()
        # Another text in each trajectory, so that nothing is answered twice.
        guard.observe(replace(stage, text=f"{stage.text} (case {number})" if stage.text else ""))
        return 1000 * (time.perf_counter() - clock)

    return go


def resident_mb() -> float:
    """Resident memory of this process in MB; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, ValueError, IndexError):
        return 0.0

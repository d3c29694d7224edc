"""Step attribution on the logs of Who&When: controls on all, judges where asked, a second annotator."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from experiments.chat_models import client, estimate, judged_chars, price, spent
from experiments.composition import instantiate
from faultline.attribution import step_controls as controls
from faultline.attribution.rerun_rows import Names
from faultline.chat.client import ChatClient
from faultline.chat.spec import ChatSpec
from faultline.corpora.failure_logs import AGENTRX, WHO_AND_WHEN, FailureLog, agentrx_steps, who_and_when
from faultline.errors import ConfigError
from faultline.judges import step_judge
from faultline.reporting.run_context import Outcome, RunContext, required_data_dir
from faultline.results import Row
from faultline.stats import generator

OPTIONS = frozenset({"limit", "seed", "chat", "resamples", "fp"})
NEAR = (1, 3)
"""Distances from the blamed step that are reported beside the exact match."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One judge: a protocol, with or without the correct answer."""

    protocol: str
    gold: bool

    @property
    def name(self) -> str:
        """As in the results table."""
        return f"llm_judge_{self.protocol}" + ("" if self.gold else "_goldfree")


def inputs(cfg: DictConfig) -> dict[str, Any]:
    """What the run depends on: the archives, the judge and its prompts."""
    data = required_data_dir()
    files = {
        name: hashlib.sha256((data / name).read_bytes()).hexdigest()
        for name in (WHO_AND_WHEN, AGENTRX)
        if (data / name).is_file()
    }
    judge = _spec(cfg).identity(_digest(cfg)) if cfg.fp.judged else None
    return {"data": files, "judge": judge, "prompts": step_judge.DIGEST if cfg.fp.judged else None}


def plan(cfg: DictConfig) -> list[str]:
    """What a run would do, and what the judges would cost on all logs."""
    logs = who_and_when(required_data_dir())
    told = [f"read: {len(logs)} logs, {sum(len(log.steps) for log in logs)} steps; controls on all of them"]
    for name, chosen in (("this run", _judged(cfg, logs)), ("all logs", logs)):
        for arm in _arms(cfg) if chosen else ():
            sizes = [step_judge.requests_of(_shown(log, arm.gold), arm.protocol) for log in chosen]
            calls, characters = (sum(each) for each in zip(*sizes, strict=True))
            line = estimate(_spec(cfg), price(cfg, _spec(cfg)), calls, characters / max(1, calls))
            told.append(f"{name}, {arm.name}: {line}")
    return told


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Controls on every log; each judge on the first ``fp.judged`` logs of a fixed random order."""
    logs = who_and_when(context.data_dir())
    names = Names(context.experiment, "who_and_when", "", "", int(cfg.resamples), 0)
    rows = [*_control_rows(names, logs), *_ceiling_rows(names, logs, agentrx_steps(context.data_dir()))]
    judged, said = _judged(cfg, logs), []
    made = _client(cfg, context) if judged else None
    if made is not None:
        arms = _arms(cfg)
        judging = Names(context.experiment, "who_and_when", made.spec.model, "", int(cfg.resamples), 0)
        with context.progress("judged logs", len(arms) * len(judged)) as advance:
            for arm in arms:
                table = _verdicts(cfg, made, arm, judged, advance)
                said.append(table)
                rows += _judge_rows(judging, arm, table)
    tables = {"verdicts": pd.concat(said)} if said else {}
    return Outcome(rows=rows, tables=tables, manifest={"data": inputs(cfg)["data"], "cost": spent(made)})


def summary(table: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Exact step match by system and subset."""
    shown = table[table["metric"].isin(["exact_step", "within_1_step", "exact_agent"])]
    shown = shown.assign(
        text=[
            f"{v:.3f} [{low:.3f}, {high:.3f}]" if pd.notna(low) else f"{v:.3f}" if pd.notna(v) else "-"
            for v, low, high in zip(shown["value"], shown["low"], shown["high"], strict=True)
        ]
    )
    wide = shown.pivot_table(
        index=["system", "condition", "n_scored", "n_missing"],
        columns="metric",
        values="text",
        aggfunc="first",
        sort=False,
    )
    return {"Who&When: the blamed step, exactly": wide.fillna("-").reset_index()}


def _control_rows(names: Names, logs: Sequence[FailureLog]) -> Iterator[Row]:
    for subset, part in _subsets(logs):
        steps, sizes = [log.step for log in part], [len(log.steps) for log in part]
        groups = [log.subset for log in part]
        guesses = {
            "uniform_step": controls.uniform(sizes),
            "first_step": controls.constant(steps, 0),
            "last_step": controls.last(steps, sizes),
            "position_prior": controls.position_prior(steps, sizes, groups),
        }
        for system, hits in guesses.items():
            value = names.mean(hits, [log.id for log in part], system, subset)
            note = "expected value of a uniform choice" if system == "uniform_step" else ""
            gold = system == "position_prior"
            note = "the most blamed step of the other logs; reads their annotation" if gold else note
            at = ("whowhen", "exact_step", system, f"subset={subset}")
            yield names.row(*at, value, len(part), needs_gold=gold, note=note)


def _ceiling_rows(names: Names, logs: Sequence[FailureLog], second: Mapping[str, int]) -> Iterator[Row]:
    """Two independent annotations of the same logs: what a perfect judge of one scores on the other."""
    both = [log for log in logs if log.subset == "hand_crafted" and log.id in second]
    said, steps, ids = [second[log.id] for log in both], [log.step for log in both], [log.id for log in both]
    missing = sum(log.subset == "hand_crafted" for log in logs) - len(both)
    note = f"missing: not_annotated={missing}; AgentRx's root cause against Who&When's mistake step"
    for distance in (0, *NEAR):
        metric = f"within_{distance}_step" if distance else "exact_step"
        value = names.mean(controls.within(said, steps, distance), ids, "ceiling", distance)
        at = ("whowhen", metric, "second_annotator", "subset=hand_crafted")
        yield names.row(*at, value, len(both), needs_gold=True, missing=missing, note=note)


def _verdicts(
    cfg: DictConfig, made: ChatClient, arm: Arm, logs: Sequence[FailureLog], advance: Any
) -> pd.DataFrame:
    limit = cfg.fp.max_chars or judged_chars(made.spec)
    found = []
    for log in logs:
        said = step_judge.judge(made, _shown(log, arm.gold), arm.protocol, max_chars=limit)
        found.append(
            {
                "system": arm.name, "log": log.id, "subset": log.subset, "said": said.step - 1,
                "said_agent": log.steps[said.step - 1].agent if said.step else "", "step": log.step,
                "agent": log.agent, "missing": str(said.missing or ""), "calls": said.calls,
                "tokens": said.tokens,
            }
        )  # fmt: skip
        advance(1)
    return pd.DataFrame(found)


def _judge_rows(names: Names, arm: Arm, table: pd.DataFrame) -> Iterator[Row]:
    """Exact matches over the logs that got a verdict; what got none is counted by reason."""
    scored = table[table["missing"] == ""]
    reasons = Counter(table.loc[table["missing"] != "", "missing"])
    note = "missing: " + ", ".join(f"{k}={v}" for k, v in sorted(reasons.items())) if reasons else ""
    measures = {"exact_step": controls.within(scored["said"], list(scored["step"]), 0)}
    measures |= {f"within_{d}_step": controls.within(scored["said"], list(scored["step"]), d) for d in NEAR}
    measures["exact_agent"] = np.asarray(scored["said_agent"] == scored["agent"], dtype=np.float64)
    for metric, hits in measures.items():
        value = names.mean(hits, list(scored["log"]), metric, arm.name) if len(scored) else None
        at = ("whowhen", metric, arm.name, "subset=judged")
        yield names.row(
            *at, value, len(scored), needs_gold=arm.gold, missing=len(table) - len(scored), note=note
        )
    known = table["tokens"].dropna()
    spent_tokens = float(known.sum()) if len(known) == len(table) else None
    at = ("whowhen", "judge_tokens", arm.name, "subset=judged")
    yield names.row(*at, spent_tokens, len(known), unit="tokens", needs_gold=arm.gold,
                    missing=len(table) - len(known))  # fmt: skip


def _subsets(logs: Sequence[FailureLog]) -> Iterator[tuple[str, list[FailureLog]]]:
    yield "all", list(logs)
    for subset in sorted({log.subset for log in logs}):
        yield subset, [log for log in logs if log.subset == subset]


def _judged(cfg: DictConfig, logs: Sequence[FailureLog]) -> list[FailureLog]:
    """The first logs of a fixed random order; ``fp.judged=null`` is all of them."""
    order = generator(int(cfg.seed), "whowhen", "judged").permutation(len(logs))
    count = len(logs) if cfg.fp.judged is None else int(cfg.fp.judged)
    if count < 0:
        raise ConfigError(f"fp.judged={count}: must not be negative")
    return [logs[int(i)] for i in np.asarray(order)[:count]]


def _arms(cfg: DictConfig) -> list[Arm]:
    return [Arm(str(protocol), bool(gold)) for protocol in cfg.fp.protocols for gold in cfg.fp.gold]


def _shown(log: FailureLog, gold: bool) -> step_judge.Log:
    steps = tuple(f"{step.agent}: {step.text}" for step in log.steps)
    return step_judge.Log(log.question, steps, gold=log.answer if gold else None)


def _spec(cfg: DictConfig) -> ChatSpec:
    made: ChatSpec = instantiate(cfg.chat)
    return made


def _digest(cfg: DictConfig) -> str:
    from faultline.chat import local

    spec = _spec(cfg)
    return local.weights_sha256(local.weights(spec)) if spec.provider == "local" else ""


def _client(cfg: DictConfig, context: RunContext) -> ChatClient:
    spec = _spec(cfg)
    return client(cfg, spec, _digest(cfg), context.stores)

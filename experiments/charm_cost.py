"""What the language model of a CHARM study cost: before a run, and in its tables."""

from __future__ import annotations

import numpy as np
from omegaconf import DictConfig

from experiments import chat_models
from experiments.charm_population import Study, load_corpus
from experiments.charm_rows import Names, Sheet
from experiments.composition import instantiate
from faultline.agents.trajectories import is_correct
from faultline.chat.messages import Usage
from faultline.errors import Missing
from faultline.results import Row
from faultline.stats import Estimate, bootstrap, generator

ACTIONS = {"retrieval": 1, "reasoning": 1, "tool_call": 2, "synthesis": 1}
"""Requests that a stage of the fixed plan takes."""


def payment(cfg: DictConfig, trajectories: int) -> str:
    """One line on what a run would pay."""
    if not chat_models.uses_chat(cfg):
        return "pay: nothing (no language model is called)"
    corpus = load_corpus(cfg)
    stages = cfg.agent.get("stages") or ["reasoning"] * (cfg.agent.max_searches + 1)
    calls = trajectories * sum(ACTIONS[str(kind)] for kind in stages)
    shown = cfg.agent.top_k * float(np.mean([len(p.rendered) for p in corpus.passages.values()]))
    asked = float(np.mean([len(task.question) for task in corpus.tasks]))
    spec = instantiate(cfg.policy).spec
    # Half of the requests see one retrieval, the others two; instructions and schema: about 900 characters.
    return chat_models.estimate(spec, chat_models.price(cfg, spec), calls, 1.5 * shown + asked + 900)


def cost_rows(cfg: DictConfig, study: Study, names: Names) -> list[Row]:
    """Calls, tokens and dollars a trajectory, and a correct answer, billed as if nothing were cached."""
    if study.client is None:
        return []
    sheet = Sheet(names)
    paid = chat_models.price(cfg, study.client.spec)
    for cell, outcomes in study.outcomes.items():
        condition = f"{cell.condition(str(cfg.faults.name))};repeat={cell.repeat}"
        made = [o for o in outcomes.values() if not isinstance(o, Missing)]
        used = [study.usage[t.id] for t in made if t.id in study.usage]
        counted = [u for u in used if u.uncounted == 0]
        tokens = [float(u.input_tokens + u.output_tokens) for u in counted]
        costs = (
            None
            if paid is None
            else [paid.cost(Usage(u.input_tokens, u.output_tokens)) or 0.0 for u in counted]
        )
        correct = sum(is_correct(t, study.corpus.gold[t.task_id]) for t in made)
        note = "" if paid is None else f"prices of {paid.as_of}"
        values = {"calls": [float(u.calls) for u in used], "tokens": tokens}
        for metric, numbers in (values | ({} if costs is None else {"usd": costs})).items():
            rng = generator(cfg.seed, "cost", metric, condition)
            estimate = bootstrap(numbers, rng, resamples=2000) if numbers else Estimate(None, None, None, 0)
            missing = {"uncounted": len(made) - len(numbers)}
            sheet.add("cost", f"{metric}_per_trajectory", "none", condition, estimate, metric, missing, note)
            total = sum(numbers) / correct if correct and not missing["uncounted"] else None
            each = Estimate(total, None, None, correct if total is not None else 0)
            reason = {} if total is not None else {"undefined": max(correct, 1)}
            sheet.add("cost", f"{metric}_per_correct", "none", condition, each, metric, reason, note)
        if costs is None:
            nothing = Estimate(None, None, None, 0)
            sheet.add(
                "cost",
                "usd_per_trajectory",
                "none",
                condition,
                nothing,
                "usd",
                {"no_price": len(made)},
            )
    return sheet.rows

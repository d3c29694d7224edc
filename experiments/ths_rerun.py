"""Paper 3 re-run: the review chain over prompts, by whisper and memory, with judges beside OSR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from omegaconf import DictConfig, OmegaConf

from experiments.chat_models import client, estimate, judged_chars, price, spent
from experiments.composition import instantiate
from faultline.agents.review_chain import STAGES, ChainRecord, Prompt, ReviewChain, StageMemory
from faultline.chat.client import ChatClient
from faultline.chat.spec import ChatSpec
from faultline.codec import decode, key_of
from faultline.errors import ConfigError, Missing
from faultline.judges import kpi_instrument
from faultline.reporting.run_context import Outcome, RunContext, required_data_dir
from faultline.results import Row
from faultline.store import AppendStore, exclusive
from faultline.ths import osr, prompts
from faultline.ths.rerun_rows import TABLE, Rerun, judged_rows, text_rows
from faultline.ths.rows import count

OPTIONS = frozenset({"limit", "chat", "resamples"})
MEMORIES = ("none", "exact")


class ExactMemory(dict[str, str]):
    """Serves a text that was given before, letter by letter."""

    def put(self, text: str, said: str) -> None:
        """Remember."""
        self[text] = said


def inputs(cfg: DictConfig) -> dict[str, Any]:
    """What the run depends on: prompts, model, chain and instruments."""
    spec = _spec(cfg)
    return {
        "prompts": _prompts(cfg).digest,
        "chat": spec.identity(_digest(spec)),
        "chain": ReviewChain.version,
        "instruments": kpi_instrument.DIGEST if cfg.ths.judges else None,
    }


def plan(cfg: DictConfig) -> list[str]:
    """What a run would do."""
    spec, found = _spec(cfg), _chosen(cfg, _prompts(cfg))
    arms = len(cfg.ths.whisper) * len(cfg.ths.memory)
    chain = 3 * len(found) * arms
    calls = {"common": 3, "original": 1, "original_stagewise": 1}
    judged = sum(calls[str(name)] for name in cfg.ths.judges) * len(found) * arms * int(cfg.ths.repeats)
    return [
        f"run: {len(found)} prompts through three stages, {arms} arms",
        estimate(spec, price(cfg, spec), chain + judged, 1500.0),
    ]


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Every arm: the chain (resumed prompt by prompt), OSR of its texts, and the judges."""
    found = _prompts(cfg)
    chosen = _chosen(cfg, found)
    spec = _spec(cfg)
    made = client(cfg, spec, _digest(spec), context.stores)
    names = Rerun(context.experiment, found.name, spec.model, resamples=int(cfg.resamples))
    rows: list[Row] = [
        names.named(count(TABLE, "prompts", "", "", len(chosen), len(chosen))),
        names.named(count(TABLE, "duplicate_prompts", "", "", found.duplicates, len(found.prompts))),
    ]
    tables: dict[str, pd.DataFrame] = {}
    seconds = 0.0
    for memory in cfg.ths.memory:
        for whisper in cfg.ths.whisper:
            records = _chain(cfg, context, made, chosen, str(whisper), str(memory))
            stages, arm = _frame(records), f"{memory}_{whisper}"
            seconds += sum(stage.seconds for record in records for stage in record.stages)
            extra = f";memory={memory};whisper={whisper}"
            rows += text_rows(names, stages, extra)
            tables[f"responses_{arm}"] = stages
            for instrument in cfg.ths.judges:
                scores = pd.concat(list(_judged(cfg, made, records, str(instrument))), ignore_index=True)
                tables[f"scores_{arm}_{instrument}"] = scores
                for repeat, part in scores.groupby("repeat"):
                    judge = f"{instrument}:{spec.model}"
                    rows += judged_rows(names, part, judge, f"{extra};repeat={repeat}")
    manifest = {"inputs": inputs(cfg), "cost": spent(made)}
    return Outcome(rows=rows, tables=tables, timings={"chain_seconds": seconds}, manifest=manifest)


def summary(table: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Values by stage over all prompts."""
    shown = table[table["condition"].str.contains("subset=all") & table["metric"].ne("ths")].copy()
    shown["stage"] = shown["condition"].str.extract(r"stage=(\w+)")[0]
    shown["arm"] = shown["condition"].str.replace(r"stage=\w+;subset=all;?", "", regex=True)
    shown["text"] = [
        f"{v:.3f} [{low:.3f}, {high:.3f}] ({n} of {total})" if pd.notna(low) else f"- ({n} of {total})"
        for v, low, high, n, total in zip(
            shown["value"], shown["low"], shown["high"], shown["n_scored"], shown["n_total"], strict=True
        )
    ]
    wide = shown.pivot_table(
        index=["arm", "system", "metric"], columns="stage", values="text", aggfunc="first", sort=False
    )
    return {"Review chain: by stage, all prompts": wide.fillna("-").reset_index()}


def _chain(
    cfg: DictConfig, context: RunContext, made: ChatClient, chosen: list[Prompt], whisper: str, memory: str
) -> list[ChainRecord]:
    if memory not in MEMORIES:
        raise ConfigError(f"ths.memory={memory}: choose one of {', '.join(MEMORIES)}")
    plain: Any = OmegaConf.to_container(cfg.ths.stages, resolve=True)
    spec = made.spec
    chats = {stage: _stage_client(cfg, context, made, spec, plain[stage]) for stage in STAGES}
    systems = {stage: str(plain[stage]["system"]) for stage in STAGES}
    chain = ReviewChain(chats, systems, whisper, judged_chars(spec))
    key = key_of([chats["front"].identity, plain, whisper, memory, ReviewChain.version, chosen])
    store = AppendStore(context.stores / "review_chain" / f"{key}.jsonl")
    memories: dict[str, StageMemory] = {}
    if memory == "exact":
        memories = {stage: ExactMemory() for stage in STAGES}
    with exclusive(store.path.with_suffix(".lock")):
        known = {name: decode(ChainRecord, raw) for name, raw in store.read().items()}
        records = []
        with context.progress(f"prompts, {memory}, whisper {whisper}", len(chosen)) as advance:
            for prompt in chosen:
                done = known.get(prompt.id)
                if done is None:
                    done = chain.run(prompt, memories)
                    if all(stage.missing is not Missing.TIMEOUT for stage in done.stages):
                        store.append([(prompt.id, done)])  # a timeout is tried again by the next run
                else:
                    _remember(chain, done, memories)
                records.append(done)
                advance(1)
    return records


def _remember(chain: ReviewChain, done: ChainRecord, memories: dict[str, StageMemory]) -> None:
    """Fill the memory from a prompt that an earlier, interrupted run finished."""
    from faultline.agents.envelopes import StageMessage, unpack

    before = StageMessage(done.prompt.text)
    for stage in done.stages:
        said = unpack(stage.envelope)
        if stage.stage not in memories or not isinstance(said, StageMessage):
            return
        memories[stage.stage].put(chain.shown(stage.stage, done.prompt, before), stage.envelope)
        before = said


def _stage_client(
    cfg: DictConfig, context: RunContext, made: ChatClient, spec: ChatSpec, plain: dict[str, Any]
) -> ChatClient:
    own = replace(spec, temperature=float(plain["temperature"]), top_p=float(plain["top_p"]))
    stage = client(cfg, own, _digest(own), context.stores)
    stage.budget = made.budget  # one budget for the run, not one a stage
    return stage


def _judged(
    cfg: DictConfig, made: ChatClient, records: list[ChainRecord], instrument: str
) -> Iterator[pd.DataFrame]:
    judge = kpi_instrument.KpiJudge(made, instrument, int(cfg.ths.retries), judged_chars(made.spec))
    for repeat in range(int(cfg.ths.repeats)):
        lines = []
        for record in records:
            there = {s.stage: s.text for s in record.stages if s.missing is None}
            said = {s.stage: s for s in judge.score(record.prompt.text, there, sample=repeat)}
            for stage in record.stages:
                found = said.get(stage.stage)
                why = stage.missing if found is None else found.missing
                values = found.values if found is not None else None
                lines.append(
                    {
                        "promptid": record.prompt.id,
                        "subset": record.prompt.subset,
                        "stage": stage.stage,
                        "repeat": repeat,
                        "missing": str(why or ""),
                        "OSR": osr.osr(stage.text) if stage.missing is None else None,
                        **dict(zip(kpi_instrument.KPIS, values or [None] * 4, strict=True)),
                    }
                )
        yield pd.DataFrame(lines).astype(dict.fromkeys((*kpi_instrument.KPIS, "OSR"), float))


def _frame(records: list[ChainRecord]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "promptid": record.prompt.id, "subset": record.prompt.subset, "prompt": record.prompt.text,
            "stage": s.stage, "text": s.text, "envelope": s.envelope, "hit": s.hit, "calls": s.calls,
            "missing": str(s.missing or ""),
        }
        for record in records
        for s in record.stages
    )  # fmt: skip


def _prompts(cfg: DictConfig) -> prompts.PromptSet:
    name = str(cfg.ths.prompts)
    return prompts.truthfulqa(required_data_dir()) if name == "truthfulqa" else prompts.listed(Path(name))


def _chosen(cfg: DictConfig, found: prompts.PromptSet) -> list[Prompt]:
    """The first prompts of the list: their order decides what a memory holds."""
    return list(found.prompts if cfg.limit is None else found.prompts[: int(cfg.limit)])


def _spec(cfg: DictConfig) -> ChatSpec:
    made: ChatSpec = instantiate(cfg.chat)
    return made


def _digest(spec: ChatSpec) -> str:
    from faultline.chat import local

    return local.weights_sha256(local.weights(spec)) if spec.provider == "local" else ""

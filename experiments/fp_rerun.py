"""Paper 2 re-run: inject at a hop, re-execute, diagnose, measure."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pandas as pd
from omegaconf import DictConfig

from experiments.charm_population import chosen, load_corpus
from experiments.chat_models import client, estimate, judged_chars, price, spent, uses_chat
from experiments.composition import instantiate
from experiments.fp_cost import priced_rows
from experiments.fp_population import Injected, Population, Setting, faults, highest, settings, unusable
from experiments.models import embedding_scorer, identity, nli_scorer, trainer_of
from faultline.attribution import rerun_rows as rows_of
from faultline.attribution.diagnosis import Case, Diagnoser
from faultline.attribution.equal_cost import equal_cost_rows
from faultline.attribution.judge_diagnoser import LlmJudge
from faultline.attribution.nli_sufficiency import NliSufficiency, score
from faultline.attribution.panel import panel
from faultline.attribution.records_table import CASE_COLUMNS, Truth, case_row, diagnosis_rows, joined
from faultline.chat.client import ChatClient
from faultline.errors import DataError
from faultline.interventions.store import InterventionStore
from faultline.records import LoadedCorpus, Task, Trajectory
from faultline.reporting.run_context import Outcome, RunContext
from faultline.results import Row
from faultline.retrieval.environment import Environments

OPTIONS = frozenset(
    {
        "limit",
        "seed",
        "corpora",
        "policy",
        "retrieval",
        "agent",
        "faults",
        "embedder",
        "nli",
        "resamples",
        "fp",
    }
    | {"chat", "prices", "cache", "cache_max_mb", "budget", "calls"}
)
PLACEBOS = 3
CHARACTERS_A_CALL = 4000
"""Of a prompt with the passages of two hops: for estimates only."""
PROBE_CALLS = 40
"""Of the paper's panel over a trace of two hops, placebos and judges included: for estimates only."""
Records = list[dict[str, object]]


def inputs(cfg: DictConfig) -> dict[str, Any]:
    """What the run depends on besides its configuration: the data's content and the embedder's weights."""
    dense = bool(cfg.retrieval.needs_embedder)
    digest = identity(cfg.embedder)["sha256"] if dense else None
    verifier = identity(cfg.nli)["sha256"] if cfg.fp.get("verify", False) else None
    return {"corpus": load_corpus(cfg).digest, "embedder": digest, "nli": verifier}


def plan(cfg: DictConfig) -> list[str]:
    """What a run would do, and how many questions its target takes at two failure rates."""
    tasks = chosen(load_corpus(cfg), cfg.limit, cfg.seed)
    every = list(settings(cfg))
    cells = sum(len(list(faults(cfg, s, every))) for s in every) * len(cfg.fp.depths)
    few, many = (rows_of.questions_needed(failed, 10, cfg.fp.target) for failed in (3, 6))
    return [
        f"generate: {len(tasks) * len(every)} base and at most {len(tasks) * cells} injected traces",
        f"diagnose: every failed case by the {cfg.fp.panel} panel of {len(_panel(cfg))} diagnosers",
        f"power: {cfg.fp.target} failed cases a depth take {few} questions if 30 % fail, {many} if 60 % do; "
        f"there are {len(tasks)}",
        _payment(cfg, len(tasks) * (len(every) + cells)),
    ]


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Run the experiment."""
    started = time.perf_counter()
    corpus = load_corpus(cfg)
    tasks = chosen(corpus, cfg.limit, cfg.seed)
    study = _Study(cfg, context, corpus, tasks)
    every = list(settings(cfg))
    total = sum(len(list(faults(cfg, s, every))) for s in every) * len(cfg.fp.depths)
    with context.progress("cells", total) as advance:
        for setting in every:
            study.setting(setting, every, advance)
    if not study.cases and study.client is None:
        raise DataError(
            f"{corpus.name}: no question is eligible at depths {list(cfg.fp.depths)}; raise limit"
        )
    return Outcome(
        rows=study.rows(),
        tables={"cases": pd.DataFrame(study.cases), "diagnoses": pd.DataFrame(study.said)},
        timings={"total_s": time.perf_counter() - started},
        manifest={
            "data": {"name": corpus.name, "sha256": corpus.digest, "skipped": dict(corpus.skipped)},
            "seeds": {"seed": cfg.seed},
            "cost": spent(study.client),
            "stores": sorted(study.stores),
            "settings": dict(study.folders),
        },
        trajectories=list(study.traces.values()),
    )


class _Study:
    """Collects the tables of all settings."""

    def __init__(
        self, cfg: DictConfig, context: RunContext, corpus: LoadedCorpus, tasks: tuple[Task, ...]
    ) -> None:
        self.cfg, self.context, self.corpus, self.tasks = cfg, context, corpus, tasks
        self.client = _client(cfg, context)
        self.diagnosers = [*_panel(cfg), *_judges(cfg, self.client)]
        self.cases: Records = []
        self.said: Records = []
        self.static: Records = []
        self.alarms: Records = []
        self.skipped: dict[str, Mapping[str, int]] = {}
        self.stores: set[str] = set()
        self.folders: dict[str, str] = {}
        self.traces: dict[tuple[str, str], Trajectory] = {}
        self.panel: list[Diagnoser] = []
        self.probes: dict[str, tuple[int, Mapping[str, int]]] = {}
        self._last = ""
        self._environments: dict[str, Environments] = {}

    def setting(self, setting: Setting, every: Sequence[Setting], advance: Any) -> None:
        """All faults and depths of one setting."""
        cfg = self.cfg
        environments = self._environments.setdefault(setting.pool, self._over(setting.pool))
        where = (setting, self.context.stores, self.client)
        population = Population(cfg, self.corpus, self.tasks, environments, *where)
        folder = str(population.folder.relative_to(self.context.stores))
        self.stores.add(folder)
        self.folders[setting.condition] = folder
        base = population.base()
        self.traces |= {(setting.condition, t.id): t for t in base.values()}
        with population.interventions().opened() as store:
            made = list(self._cases(population, base, store, setting, every))
            clean = self._clean(population, base, store) if highest(setting, every) else {}
            self.panel = [*self.diagnosers, *self._verified([*(c for _, c, _ in made), *clean.values()])]
            for item, case, cell in made:
                self._injected(item, case, setting, cell)
                if cell != self._last:
                    store.flush()
                    advance(1)
                    self._last = cell
            for task, case in clean.items():
                for said in diagnosis_rows(case, self.panel):
                    self.alarms.append({"setting": setting.condition, "task": task, **said})
            self.probes[setting.condition] = (store.asked, store.failed)

    def _cases(
        self,
        population: Population,
        base: Mapping[str, Trajectory],
        store: InterventionStore,
        setting: Setting,
        every: Sequence[Setting],
    ) -> Iterator[tuple[Injected, Case, str]]:
        """Every injected trace of a setting as a case, with the name of its cell."""
        for fault, depth in product(list(faults(self.cfg, setting, every)), self.cfg.fp.depths):
            items, skipped = population.injected(fault, depth, base)
            cell = f"depth={depth};fault={fault.name};scope={fault.scope};{setting.condition}"
            self.skipped[cell] = skipped
            for item in items:
                yield item, population.case(item, store), cell

    def _verified(self, cases: Sequence[Case]) -> list[Diagnoser]:
        """The diagnoser that needs NLI scores; all pairs of a setting are scored in one plan."""
        if not self.cfg.fp.get("verify", False):
            return []
        verifier = nli_scorer(self.cfg.nli, self.context.stores, trainer_of(self.cfg.trainer))
        return [NliSufficiency(score(verifier, cases))]

    def _injected(self, item: Injected, case: Case, setting: Setting, cell: str) -> None:
        self.traces[setting.condition, item.trace.id] = item.trace
        depth, hops = item.depth, len(item.base.stages) - 1
        truth = Truth(
            item.fault.name, item.fault.scope, depth, item.task.id, item.changed, item.strategy, hops
        )
        row = {"setting": setting.condition, "where": cell, **case_row(case, truth, item.gold, PLACEBOS)}
        self.cases.append(row)
        if not row["recovered"]:
            for said in diagnosis_rows(case, self.panel):
                self.said.append({"setting": setting.condition, **said})
        if item.fault.name != "early_termination":
            faulty = item.trace.stages[depth - 1]
            kept = tuple(
                s if s.index != depth else replace(s, hits=faulty.hits) for s in item.base.stages[:-1]
            )
            shown = replace(case, hops=kept, answer=item.base.answer)
            for said in diagnosis_rows(shown, panel("trace", None, self.cfg.seed)):
                self.static.append({**row, **said, "recovered": False})

    def _clean(
        self, population: Population, base: Mapping[str, Trajectory], store: InterventionStore
    ) -> dict[str, Case]:
        """The fault-free traces that answered correctly."""
        return {
            task.id: population.clean_case(task, base[task.id], store)
            for task in self.tasks
            if not unusable(base[task.id], self.corpus.gold[task.id], 1)
        }

    def _over(self, pool: str) -> Environments:
        cfg = self.cfg
        needs = {}
        if cfg.retrieval.needs_embedder:
            scorer = embedding_scorer(cfg.embedder, self.context.stores, trainer_of(cfg.trainer))
            needs = {"embedder": scorer}
        return Environments(self.corpus, instantiate(cfg.retrieval.index, **needs), pool)

    def rows(self) -> list[Row]:
        """The results table."""
        cfg = self.cfg
        embedder = identity(cfg.embedder)["name"] if cfg.retrieval.needs_embedder else ""
        backbone = "reader" if self.client is None else self.client.spec.model
        at = (self.context.experiment, self.corpus.name, backbone, embedder, cfg.resamples, cfg.fp.target)
        names = rows_of.Names(*at, nli=str(cfg.nli.name) if cfg.fp.get("verify", False) else "")
        cases = pd.DataFrame(self.cases, columns=list(CASE_COLUMNS))
        made = [*rows_of.selection_rows(names, cases, self.skipped)]
        made += rows_of.recovery_range_rows(names, cases)
        made += rows_of.power_rows(names, cases, len(self.tasks))
        made += rows_of.probe_rows(names, self.probes)
        if self.said:
            table = joined(cases, pd.DataFrame(self.said))
            made += rows_of.accuracy_rows(names, table)
            made += rows_of.calibration_rows(names, table)
            made += rows_of.pair_rows(names, table)
            if cfg.fp.panel == "budget":
                made += equal_cost_rows(names, table)
        made += rows_of.control_rows(names, pd.DataFrame(self.static), pd.DataFrame(self.alarms))
        if self.client is not None:
            made += list(priced_rows(made, price(cfg, self.client.spec)))
        return made


def summary(table: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """By family and setting, systems down and depths across: exact hops, and what became of the cases."""
    pooled = table[table["condition"].str.startswith("depth=") & table["condition"].str.contains("family=")]
    if pooled.empty:
        counts = table.loc[table["table"] == "selection", ["metric", "condition", "value", "n_total"]]
        return {"no case at any depth: why questions were skipped": counts.reset_index(drop=True)}
    depth, rest = (pooled["condition"].str.partition(";")[i] for i in (0, 2))
    pooled = pooled.assign(depth=depth, rest=rest)
    shown: dict[str, pd.DataFrame] = {}
    for title, metrics, name in _SHOWN:
        part = pooled[pooled["metric"].isin(metrics) & (pooled["table"] == name)]
        for where, cells in part.groupby("rest"):
            cells = cells.assign(system=cells["system"].where(cells["system"] != "all", cells["metric"]))
            wide = cells.pivot_table(index="system", columns="depth", values="value", sort=True)
            shown[f"{title}: {where}"] = wide.round(2).reset_index()
    return shown


_SHOWN = (
    ("exact hop", ("exact_hop",), "accuracy"),
    ("cases", ("failed", "recovery", "resisted", "absorbed", "derailed"), "outcomes"),
    ("gain at equal tokens", ("gain",), "equal_cost"),
)


def _client(cfg: DictConfig, context: RunContext) -> ChatClient | None:
    """One client a run, so that its budget is the run's; None for the reader."""
    if not uses_chat(cfg):
        return None
    made = instantiate(cfg.policy)
    return client(cfg, made.spec, made.digest, context.stores)


def _judges(cfg: DictConfig, made: ChatClient | None) -> list[Diagnoser]:
    """The model that acts also judges, in the protocols that are asked for, with and without gold."""
    if made is None:
        return []
    limit = judged_chars(made.spec)
    return [LlmJudge(made, str(p), gold, limit) for p in cfg.fp.get("judges", ()) for gold in (True, False)]


def _payment(cfg: DictConfig, traces: int) -> str:
    """What the traces cost at most; probes of failed cases come on top."""
    if not uses_chat(cfg):
        return "pay: nothing (no language model is called)"
    spec = instantiate(cfg.policy).spec
    calls = traces * (2 * int(cfg.agent.max_hops) + 1)
    told = estimate(spec, price(cfg, spec), calls, CHARACTERS_A_CALL)
    return f"{told}; each failed case takes about {PROBE_CALLS} more calls"


def _panel(cfg: DictConfig) -> list[Diagnoser]:
    return panel(cfg.fp.panel, cfg.fp.budget, cfg.seed)

"""What the page says, gathered from runs: the ledger, the papers' tables and figures, costs and times."""

from __future__ import annotations

import importlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pandas as pd
import yaml

from experiments.catalogue import CONF, module_of
from experiments.verify import CLAIMS
from faultline.errors import DataError, FaultlineError
from faultline.reporting import figure_style, ledger_check, paper_tables
from faultline.reporting import ledger as claims_of
from faultline.reporting.ledger import PAPERS, Claim
from faultline.reporting.ledger_check import Outcome
from faultline.reporting.ledger_evidence import Rows
from faultline.reporting.page.write import Figure, PaperPart, RunPart
from faultline.reporting.saved_run import SavedRun, opened

LAYOUTS = CONF / "layouts"
SHORT = {"charm": "CHARM", "fp": "AgenticRAG-FP", "ths": "THS/OSR"}
RELEASED = {"ths": "ths_released", "fp": "fp_released"}
"""Paper to the experiment whose rows are the released data recomputed."""
IMAGES = (".svg", ".png")
Records = list[dict[str, Any]]


def open_all(paths: Sequence[Path], scratch: Path) -> list[SavedRun]:
    """The runs that the user named, each once."""
    found: dict[str, SavedRun] = {}
    for number, path in enumerate(paths):
        for run in opened(path, scratch / f"archive-{number}"):
            found.setdefault(str(run.path), run)
    return list(found.values())


def gathered(runs: Sequence[SavedRun], root: Path) -> Path:
    """A runs folder that holds these runs and no other, so that the newest one is one of them."""
    for run in runs:
        (root / run.experiment).mkdir(parents=True, exist_ok=True)
        (root / run.experiment / run.path.name).symlink_to(run.path)
    root.mkdir(parents=True, exist_ok=True)
    return root


def ledger(
    runs: Sequence[SavedRun], root: Path, papers: Sequence[str] = PAPERS
) -> tuple[list[Outcome], list[str]]:
    """The outcome of every claim, and what could not be checked for want of data.

    Released rows come from a run that recomputed them, else from the released data themselves.
    """
    claims = claims_of.load(CLAIMS, papers)
    released, told = {}, []
    for paper in papers:
        if paper not in RELEASED:
            continue
        try:
            released[paper] = _released(paper, runs)
        except DataError as error:
            told.append(f"{paper}: its released data were not recomputed ({error})")
    waits = [c for c in claims if c.kind in ("recompute", "statement") and c.paper not in released]
    ready = [c for c in claims if c not in waits]
    checked = ledger_check.check(ready, released, ledger_check.newest_runs(root), among=claims)
    by_claim = {(o.claim.paper, o.claim.id): o for o in checked}
    return [by_claim.get((c.paper, c.id)) or _waiting(c) for c in claims], told


def run_part(run: SavedRun, out: Path) -> RunPart:
    """A run described, its figures copied into the page."""
    tables = [{"table": "results", "rows": len(run.results)}]
    for stem in run.tables():
        table = run.table(stem)
        tables.append({"table": stem, "rows": 0 if table is None else len(table)})
    return RunPart(
        name=run.name,
        experiment=run.experiment,
        about=_about(run),
        manifest=orjson.dumps(dict(run.manifest), option=orjson.OPT_INDENT_2).decode(),
        config=yaml.safe_dump(dict(run.config), sort_keys=False, allow_unicode=True),
        tables=tables,
        summary={title: _records(rows) for title, rows in _summary(run).items()},
        figures=list(_run_figures(run, out)),
    )


def papers(
    outcomes: Sequence[Outcome],
    runs: Sequence[SavedRun],
    described: Sequence[RunPart],
    root: Path,
    out: Path,
    *,
    figures: bool,
) -> tuple[list[PaperPart], list[str]]:
    """A section a paper, and what could not be drawn."""
    parts, told = [], []
    for paper in PAPERS:
        title, tables = paper_tables.load(LAYOUTS, paper, outcomes)
        drawn: list[Figure] = []
        if figures:
            try:
                drawn = _paper_figures(paper, root, out)
            except FaultlineError as error:
                why = str(error).replace(str(root), "the runs of this page")  # a scratch folder until then
                told.append(f"{paper}: its figures were not drawn ({why})")
        own = [part for run, part in zip(runs, described, strict=True) if paper_of(run) == paper]
        parts.append(PaperPart(paper, SHORT[paper], title, tables, drawn, own))
    return parts, told


def own_figures(root: Path, out: Path) -> list[Figure]:
    """Figures that no paper has; none where there is nothing to draw."""
    try:
        return _paper_figures("own", root, out)
    except FaultlineError:
        return []


def paper_of(run: SavedRun) -> str:
    """The paper that a run belongs to: what its rows say."""
    named = run.results["paper"]
    return str(named.iloc[0]) if len(named) else run.experiment.partition("_")[0]


def costs(runs: Sequence[SavedRun]) -> Records:
    """Money, calls and wall-clock seconds of each run."""
    out = []
    for run in runs:
        spent = run.manifest.get("cost")
        cost: Mapping[str, Any] = spent if isinstance(spent, Mapping) else {}
        seconds = [v for k, v in run.timings.items() if k.endswith("_s")]
        out.append(
            {
                "run": run.name,
                "US dollars": cost.get("usd", 0.0),
                "model calls": cost.get("calls", 0),
                "seconds": round(sum(seconds), 1) if seconds else None,
                "ms a stage": round(run.timings["lo_ms"], 1) if "lo_ms" in run.timings else None,
                "rows": len(run.results),
            }
        )
    return out


def times(runs: Sequence[SavedRun]) -> list[tuple[str, float]]:
    """Seconds by run and step."""
    return [
        (f"{run.name[:40]}: {name.removesuffix('_s')}", float(seconds))
        for run in runs
        for name, seconds in run.timings.items()
        if name.endswith("_s")
    ]


def _released(paper: str, runs: Sequence[SavedRun]) -> Rows:
    for run in runs:
        if run.experiment == RELEASED[paper]:
            return Rows(run.results)
    from experiments.verify import released

    some = [c for c in claims_of.load(CLAIMS, [paper]) if c.kind == "recompute"]
    return released(some)[paper]


def _waiting(claim: Claim) -> Outcome:
    return Outcome(claim, "not_run", None, "the released data were not at hand; see experiments.fetch")


def _about(run: SavedRun) -> str:
    def one(column: str) -> str:
        values = [v for v in run.results[column].dropna().unique() if v]
        return ", ".join(map(str, values[:4])) + (f" and {len(values) - 4} more" if len(values) > 4 else "")

    parts = (("data set", "dataset"), ("backbone", "backbone"), ("NLI", "nli"), ("embedder", "embedder"))
    said = [f"{label}: {one(column)}" for label, column in parts if one(column)]
    revision = (run.manifest.get("git") or {}).get("revision") or "unknown"
    return "; ".join([f"{len(run.results):,} rows", *said, f"code {str(revision)[:12]}"])


def _summary(run: SavedRun) -> Mapping[str, pd.DataFrame]:
    """The tables that the experiment prints."""
    module = module_of(str(run.config.get("experiment") or ""))
    found: Mapping[str, pd.DataFrame] = module.summary(run.results)
    return found


def _records(table: pd.DataFrame) -> Records:
    plain = table.astype(object).where(table.notna(), None)
    shown = plain.map(lambda v: f"{v:.4g}" if isinstance(v, float) else v)
    return [{str(k): v for k, v in record.items()} for record in shown.to_dict("records")]


def _paper_figures(paper: str, root: Path, out: Path) -> list[Figure]:
    """The paper's figures, drawn once for a light and once for a dark page; none if no module draws them."""
    try:
        module = importlib.import_module(f"paper_figures.{paper}")
    except ModuleNotFoundError as error:
        if error.name not in (f"paper_figures.{paper}", "paper_figures"):
            raise
        return []
    source, _ = module.load(root)
    stems: dict[str, list[str]] = {}
    for theme in ("light", "dark"):
        with figure_style.rendering(theme, ("svg",)):
            for path in module.make(source, out / "figures" / f"{paper}-{theme}"):
                stems.setdefault(path.stem, []).append(str(path.relative_to(out)))
    captions = getattr(module, "CAPTIONS_OF", {})
    return [Figure(light, dark, captions.get(stem, _caption(stem))) for stem, (light, dark) in stems.items()]


def _run_figures(run: SavedRun, out: Path) -> Iterator[Figure]:
    """Images that the run itself wrote; a vector image stands for a bitmap of the same name."""
    found: dict[str, Path] = {}
    for path in sorted((run.path / "figures").glob("*")):
        if path.suffix in IMAGES:
            found[path.stem] = path if path.suffix == ".svg" else found.get(path.stem, path)
    for stem, path in found.items():
        place = out / "figures" / re.sub(r"[^A-Za-z0-9_-]", "-", run.name) / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
        where = str(place.relative_to(out))
        yield Figure(where, where, _caption(stem))


def _caption(stem: str) -> str:
    words = re.sub(r"(\d+)$", r" \1", stem).replace("_", " ").strip()
    return words[:1].upper() + words[1:]

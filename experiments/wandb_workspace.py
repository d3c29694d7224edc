"""Create the saved view in which W&B compares runs: ``python -m experiments.wandb_workspace RUN [RUN ...]``.

The view has one bar chart a headline metric of the runs' experiment, their tables, and the runs' differing
configurations; runs are grouped as their sweep groups them. ``--print`` shows what would be sent, and sends
nothing. Exit status: 0 done, 2 wrong usage or data.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.catalogue import module_of
from faultline.errors import ConfigError, FaultlineError, ModelError

if TYPE_CHECKING:
    from faultline.reporting.saved_run import SavedRun

MOST = 12
"""Bars' metrics in one section; a section says how many there are."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(
        prog="python -m experiments.wandb_workspace", description="A saved comparison view on a W&B server."
    )
    out.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directories that were synced")
    out.add_argument("--entity", required=True, help="W&B entity")
    out.add_argument("--project", default="faultline", help="W&B project (default faultline)")
    out.add_argument("--name", default="Faultline: runs side by side", help="the view's name")
    out.add_argument("--print", dest="shown", action="store_true", help="show it as JSON, send nothing")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """The console entry point; returns the exit status."""
    given = parser().parse_args(arguments)
    from faultline.reporting.console import Terminal

    terminal = Terminal()
    try:
        with tempfile.TemporaryDirectory(prefix="faultline-") as scratch:
            view = workspace(given, Path(scratch))
        if given.shown:
            terminal.print(view._to_model().spec.model_dump_json(by_alias=True, exclude_none=True, indent=1))
        else:
            terminal.print(_saved(view))
    except FaultlineError as error:
        terminal.error(str(error))
        return 2
    return 0


def workspace(given: argparse.Namespace, scratch: Path) -> Any:
    """The view, not yet sent.

    Raises:
        FaultlineError: A run cannot be read, or the package is not installed.
    """
    try:
        os.environ.setdefault("WANDB_SILENT", "true")
        panels: Any = importlib.import_module("wandb_workspaces.reports.v2")
        ws: Any = importlib.import_module("wandb_workspaces.workspaces")
    except ImportError as error:
        raise ModelError(
            "wandb_workspaces is not installed: pip install wandb-workspaces (the extra `workspaces`)"
        ) from error
    from experiments.report_parts import open_all

    runs = open_all(given.runs, scratch)
    sections = [
        ws.Section(f"{name} ({len(keys)} metrics)", [_bars(panels, key) for key in keys[:MOST]], is_open=True)
        for name, keys in headlines(runs).items()
    ]
    tables = [panels.WeavePanelSummaryTable(table_name=name) for name in table_names(runs)]
    sections += [
        ws.Section("Tables", tables),
        ws.Section("Configurations that differ", [panels.RunComparer(diff_only="split")], is_open=True),
        ws.Section("Time", [_bars(panels, name) for name in timings(runs)]),
    ]
    # the run's group is the sweep's, see experiments.sweep
    return ws.Workspace(entity=given.entity, project=given.project, name=given.name, sections=sections)


def headlines(runs: Sequence[SavedRun]) -> dict[str, list[str]]:
    """Names of the summary's headline metrics, by experiment: what a sweep of it compares (``COMPARE``)."""
    out: dict[str, list[str]] = {}
    for run in runs:
        module = module_of(str(run.config.get("experiment") or ""))
        wanted = {tuple(w) for w in getattr(module, "COMPARE", ())}
        keys = out.setdefault(run.experiment, [])
        for r in run.results[run.results["value"].notna()].to_dict("records"):
            named = (r["table"], r["metric"], r["system"])
            key = f"{r['metric']}/{r['system']}/{r['dataset']}/{r['condition']}".rstrip("/")
            if (named in wanted or not wanted) and key not in keys:
                keys.append(key)
    return out


def table_names(runs: Sequence[SavedRun]) -> list[str]:
    """Keys of every table that the runs logged."""
    found = {"results"}
    for run in runs:
        found |= {f"table/{name}" for name in run.results["table"].unique()} | set(run.tables())
    return sorted(found)


def timings(runs: Sequence[SavedRun]) -> list[str]:
    """Keys of every timing that the runs logged."""
    return sorted({name for run in runs for name in run.timings})


def _bars(panels: Any, key: str) -> Any:
    return panels.BarPlot(title=key, metrics=[key], max_bars_to_show=50)


def _saved(view: Any) -> str:
    if not os.environ.get("WANDB_API_KEY"):
        raise ConfigError("WANDB_API_KEY is not set; set it, or use --print to see the view")
    import wandb

    try:
        return str(view.save().url)
    except (wandb.errors.Error, ValueError, OSError) as error:
        raise ConfigError(f"the W&B server did not take the view: {error}") from error


if __name__ == "__main__":
    sys.exit(main())

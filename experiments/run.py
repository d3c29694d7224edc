"""Run one experiment: ``python -m experiments.run +exp=charm_hotpot``; see ``--list``."""

from __future__ import annotations

import sys
from typing import Any

from experiments.catalogue import CONF, entries
from faultline.errors import FaultlineError
from faultline.reporting.console import Terminal

USAGE = """\
usage: python -m experiments.run +exp=NAME [OPTION=VALUE ...]

  --list                       every experiment, one line, with its cost
  --cfg job                    show the composed configuration and stop
  -m A=1,2,3                   a sweep (Hydra multirun)

Options (an experiment refuses those that it does not use):
  limit=N                      N tasks, chosen by seed; the pool stays whole
  seed=S repeats=R             of everything random; R runs reported as mean and SD
  paired=true                  also every eligible question in both conditions
  corpora= retrieval= policy= agent= faults= nli= embedder= charm= trainer=
                               another file of that folder of conf/, or a key in it (charm.trigger.theta=0.4)
  policy=llm chat=NAME         a language model; policy=local runs one in this process
  +preset=paper|fp_paper|ths_paper   the papers' models; keys come from the environment
  cache=use|refresh|replay     chat replies; budget.usd=N budget.calls=N stop the run, resumably
  hydra/launcher=processes|local_queue|slurm   where the jobs of a sweep run
  tracking=offline|online|off  W&B
  runs_dir=DIR                 where runs are kept (default runs/)
  overwrite=never|missing|always
  dry_run=true                 say what would be generated, scored and paid, and stop

Data sets are read from FAULTLINE_DATA_DIR, models from FAULTLINE_MODELS_DIR, installed packages or the hub.
The last line printed is the run directory.
"""
MULTIRUN = ("-m", "--multirun")


def main(arguments: list[str] | None = None) -> int:
    """The console entry point; returns the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    terminal = Terminal()
    if not given or any(a in ("-h", "--help", "--hydra-help") for a in given):
        terminal.print(f"{USAGE}\nExperiments:\n{_listing()}")
        return 0
    if "--list" in given:
        terminal.print(_listing())
        return 0
    try:
        return _hydra(given, terminal)
    except FaultlineError as error:
        terminal.error(str(error))
        return 2
    except KeyboardInterrupt:
        terminal.error("interrupted; repeat the command to go on, finished work is kept")
        return 130


def _listing() -> str:
    """Every experiment, one line."""
    known = entries()
    width = max(len(entry.name) for entry in known)
    return "\n".join(f"{entry.name:<{width}}  {entry.about}  [{entry.cost}]" for entry in known)


def _hydra(given: list[str], terminal: Terminal) -> int:
    """Compose once for readable errors, then hand over to Hydra (which also knows --cfg and -m)."""
    import hydra

    from experiments.composition import compose, set_options

    multirun = any(a in MULTIRUN for a in given)
    if multirun:
        # Hydra takes its overrides in one piece: "+exp=NAME -m A=1,2" would be refused as it stands.
        return _sweep(["-m", *(a for a in given if a not in MULTIRUN)], terminal)
    compose([a for a in given if not a.startswith("-") and a not in ("job", "all")])
    failures: list[FaultlineError] = []

    @hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
    def task(cfg: Any) -> None:
        from hydra.core.hydra_config import HydraConfig

        from experiments.execution import execute

        runtime = HydraConfig.get()
        name = str(runtime.runtime.choices.get("exp") or cfg.experiment or "")
        try:
            execute(cfg, name, set_options(runtime.overrides.task), terminal)
        except FaultlineError as error:
            failures.append(error)

    saved, sys.argv = sys.argv, [sys.argv[0], *given]
    try:
        task()
    finally:
        sys.argv = saved
    for failure in failures:
        terminal.error(str(failure))
    return 2 if failures else 0


def _sweep(given: list[str], terminal: Terminal) -> int:
    """Hand the jobs to Hydra's launcher, and compare them when it is done."""
    import hydra

    from experiments import sweep

    folder = sweep.folder_of(given)
    sweep.started(folder)
    sweep.environment()
    task = hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")(sweep.job)
    saved, sys.argv = sys.argv, [sys.argv[0], *given, f"hydra.sweep.dir={folder}"]
    try:
        task()
    except SystemExit:
        # Hydra's own way to say that a job died, or that there is nothing to run; both were shown.
        return sweep.finished(folder, terminal) or 1
    finally:
        sys.argv = saved
    return sweep.finished(folder, terminal)


if __name__ == "__main__":
    sys.exit(main())

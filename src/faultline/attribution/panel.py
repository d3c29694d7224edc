"""The diagnosers of a study, by name."""

from __future__ import annotations

from dataclasses import replace

from faultline.attribution.changepoint import ChangePoint, ChangePointSettings
from faultline.attribution.diagnosis import Diagnoser
from faultline.attribution.probing import ProbeDiagnoser, ProbeSettings, propagation_aware, suffix_regen
from faultline.attribution.trace_diagnosers import trace_diagnosers
from faultline.errors import ConfigError

PANELS = ("paper", "order", "budget", "trace")


def panel(name: str, budget: int | None, seed: int) -> list[Diagnoser]:
    """The diagnosers of a panel.

    Args:
        name: ``paper`` (all that need no language model), ``order`` (the simulation's probe orders, without
            fallbacks), ``budget`` (repeats and token budgets, for accuracy against cost), or ``trace``
            (those that act on nothing).
        budget: Most probes of the paper's diagnosers, None for no limit.
        seed: Of random choices.

    Raises:
        ConfigError: Another name.
    """
    trace: list[Diagnoser] = list(trace_diagnosers(seed))
    if name == "trace":
        return trace
    if name == "paper":
        return [*trace, *_paper(budget, seed)]
    if name == "order":
        return [*trace, *_order()]
    if name == "budget":
        return _budget(seed)
    raise ConfigError(f"fp.panel={name}: choose one of {', '.join(PANELS)}")


def _paper(budget: int | None, seed: int) -> list[Diagnoser]:
    free = [
        ProbeDiagnoser(f"{d.name}_goldfree", replace(d.settings, falls_back=False), needs_gold=False)
        for d in (propagation_aware(budget=budget), suffix_regen(budget=budget))
    ]
    return [
        propagation_aware(budget=budget),
        suffix_regen(budget=budget),
        suffix_regen("suffix_regen_latest", order="latest", budget=budget),
        suffix_regen("suffix_regen_random", order="random", budget=budget, seed=seed),
        ProbeDiagnoser("regenerate_binary", ProbeSettings("regenerate", "binary", "working")),
        *free,
        ChangePoint(),
        ChangePoint("changepoint_goldfree", needs_gold=False),
    ]


def _order() -> list[Diagnoser]:
    """The four probes of the page's simulation, and ours."""
    alone = {"falls_back": False, "goes_on": False}
    return [
        suffix_regen("suffix_regen_earliest", **alone),
        suffix_regen("suffix_regen_latest", order="latest", **alone),
        propagation_aware("frozen_hop_earliest", **alone),
        ProbeDiagnoser("change_point", ProbeSettings("regenerate", "latest", "working", **alone)),
        ChangePoint(),
        ChangePoint("changepoint_goldfree", needs_gold=False),
    ]


def _budget(seed: int) -> list[Diagnoser]:
    found: list[Diagnoser] = []
    for repeats in (1, 3, 5):
        found += [
            propagation_aware(f"propagation_aware_x{repeats}", repeats=repeats),
            suffix_regen(f"suffix_regen_x{repeats}", repeats=repeats),
            suffix_regen(f"suffix_regen_random_x{repeats}", order="random", repeats=repeats, seed=seed),
            suffix_regen(f"suffix_regen_latest_x{repeats}", order="latest", repeats=repeats),
        ]
    for percent in (50, 60, 70, 80, 90, 95, 99):  # how sure it wants to be decides what it spends
        limits = ChangePointSettings(confidence=percent / 100, abstain=0.0)
        found.append(ChangePoint(f"changepoint_{percent}", limits))
    return found

"""Every combination of the readings that paper 1 leaves open, over the same scores.

A reading is an axis of options; a universe is one choice on every axis. Signals are computed once per choice
of their own axes and combined by the code of :mod:`faultline.charm.decide`, so a universe decides, to the
bit, what a run with its settings decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from faultline.charm.cpm import cpm_signal
from faultline.charm.csct import csct_signal
from faultline.charm.decide import CharmSettings
from faultline.charm.scores import BoolArray, FloatArray, StageScores
from faultline.charm.sfv import sfv_signal
from faultline.charm.trigger import cascade_score, flag, used
from faultline.errors import ConfigError

AXES: Mapping[str, tuple[Any, ...]] = {
    "sfv.anchor": ("both", "top1", "consensus"),
    "sfv.map": ("deficit", "hinge", "step"),
    "sfv.tau": (0.72, 0.5, 0.9),
    "csct.reference": ("previous", "first", "running_mean"),
    "csct.map": ("hinge", "step", "raw"),
    "cpm.monitor": ("beta", "difference", "ewma", "cusum", "contradiction"),
    "cpm.map": ("margin", "step"),
    "trigger.renormalise": (False, True),
    "trigger.strict": (False, True),
}
"""Readings by option, the paper's (or our default) first; tau moves so that its one use is seen."""


@dataclass(frozen=True, eq=False)
class Multiverse:
    """What every universe decides.

    Attributes:
        axes: Options by axis, those that change no decision left out.
        dead: Axes that were dropped because no choice on them changes a decision.
        choices: Shape (u,), the choice on each live axis.
        flagged: Shape (u, n, S).
        same_as: Shape (u,), the first universe that decides the same.
    """

    axes: Mapping[str, tuple[Any, ...]]
    dead: tuple[str, ...]
    choices: tuple[Mapping[str, Any], ...]
    flagged: BoolArray
    same_as: npt.NDArray[np.int64]

    @property
    def distinct(self) -> int:
        """Universes that decide differently from every earlier one."""
        return int(np.unique(self.same_as).size)

    @property
    def default(self) -> int:
        """The universe of first choices."""
        return 0


def settings_of(base: CharmSettings, choice: Mapping[str, Any]) -> CharmSettings:
    """The settings of a universe.

    Args:
        base: What the axes leave as it is.
        choice: Value by option, ``part.field``.

    Raises:
        ConfigError: No such option.
    """
    made = base
    for option, value in choice.items():
        part, _, field = option.partition(".")
        settings = getattr(made, part, None)
        if settings is None or not hasattr(settings, field):
            raise ConfigError(f"multiverse axis {option!r}: no such option of CharmSettings")
        made = replace(made, **{part: replace(settings, **{field: value})})
    return made


def multiverse(
    scores: StageScores, base: CharmSettings, axes: Mapping[str, Sequence[Any]] = AXES
) -> Multiverse:
    """Decide in every universe.

    Args:
        scores: Of n trajectories.
        base: Everything that no axis varies.
        axes: Options by ``part.field``.

    Raises:
        ConfigError: An unknown option, or an axis without options.
    """
    empty = [name for name, options in axes.items() if not options]
    if empty:
        raise ConfigError(f"multiverse axis {empty[0]} has no options")
    live = {name: tuple(options) for name, options in axes.items()}
    dead = [n for n in live if not n.startswith("trigger.") and not _changes_signal(n, live, scores, base)]
    for name in dead:
        base = settings_of(base, {name: live.pop(name)[0]})
    choices = _product(live)
    flagged = flags(scores, base, choices)
    same = _first_equal(flagged)
    grid = same.reshape([len(options) for options in live.values()])
    keep = np.ones(grid.shape, dtype=np.bool_)
    for axis, name in enumerate(list(live)):
        if bool((grid == grid.take([0], axis=axis)).all()):
            dead.append(name)
            keep &= (np.arange(grid.shape[axis]) == 0).reshape(
                [-1 if k == axis else 1 for k in range(grid.ndim)]
            )
    kept = np.flatnonzero(keep.ravel())
    for name in dead:
        live.pop(name, None)
    flagged = flagged[kept]
    return Multiverse(live, tuple(dead), _product(live), flagged, _first_equal(flagged))


def conditionally_dead(found: Multiverse) -> list[str]:
    """Axes that change nothing under one option of another axis: ``sfv.tau under sfv.map=deficit``."""
    names, options = list(found.axes), list(found.axes.values())
    grid = found.same_as.reshape([len(each) for each in options])
    told = []
    for (a, name), (b, other) in product(enumerate(names), repeat=2):
        if a == b:
            continue
        for k, value in enumerate(options[b]):
            part = np.moveaxis(grid, (a, b), (0, 1))[:, k]
            if bool((part == part[:1]).all()):
                told.append(f"{name} under {other}={value}")
    return told


def _product(axes: Mapping[str, tuple[Any, ...]]) -> tuple[Mapping[str, Any], ...]:
    return tuple(dict(zip(axes, values, strict=True)) for values in product(*axes.values()))


def _first_equal(flagged: BoolArray) -> npt.NDArray[np.int64]:
    rows = flagged.reshape(len(flagged), -1)
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[inverse.ravel()], dtype=np.int64)


def flags(scores: StageScores, base: CharmSettings, choices: Sequence[Mapping[str, Any]]) -> BoolArray:
    """Where the trigger fires in each universe, shape (u, n, S); each signal is computed once a reading."""
    seen: dict[tuple[str, str], FloatArray] = {}

    def once(name: str, key: str, make: Callable[[], FloatArray]) -> FloatArray:
        full = (name, key)
        if full not in seen:
            seen[full] = make()
        return seen[full]

    found = np.empty((len(choices), scores.n, scores.stages), dtype=np.bool_)
    for u, choice in enumerate(choices):
        s = settings_of(base, choice)
        signals = np.stack(
            [
                once("sfv", repr(s.sfv), partial(sfv_signal, scores, s.sfv)),
                once("csct", repr(s.csct), partial(csct_signal, scores, s.csct)),
                once("cpm", repr((s.cpm, s.sfv.anchor)), partial(cpm_signal, scores, s.cpm, s.sfv.anchor)),
            ],
            axis=-1,
        )
        found[u] = flag(cascade_score(used(signals, s.trigger.components), s.trigger), s.trigger)
    return found


def _changes_signal(
    name: str, axes: Mapping[str, tuple[Any, ...]], scores: StageScores, base: CharmSettings
) -> bool:
    """Whether an axis changes its own signal under any choice on the other axes of that signal."""
    part = name.partition(".")[0]
    own = {k: v for k, v in axes.items() if k.startswith(f"{part}.") and k != name}
    if part == "cpm" and "sfv.anchor" in axes:
        own["sfv.anchor"] = axes["sfv.anchor"]
    return any(
        not _equal([_signal(part, scores, settings_of(base, {**rest, name: v})) for v in axes[name]])
        for rest in _product(own)
    )


def _signal(part: str, scores: StageScores, settings: CharmSettings) -> FloatArray:
    if part == "sfv":
        return sfv_signal(scores, settings.sfv)
    if part == "csct":
        return csct_signal(scores, settings.csct)
    if part == "cpm":
        return cpm_signal(scores, settings.cpm, settings.sfv.anchor)
    raise ConfigError(f"multiverse axis {part}: choose an option of sfv, csct, cpm or trigger")


def _equal(arrays: Sequence[FloatArray]) -> bool:
    return all(np.array_equal(arrays[0], other, equal_nan=True) for other in arrays[1:])

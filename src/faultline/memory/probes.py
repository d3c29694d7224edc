"""Labelled pairs of requests: paraphrases that may share an answer, and near misses that must not.

A memory that never serves is never wrong, and one that always serves always is: both kinds are measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import yaml

from faultline.errors import DataError
from faultline.stats import generator

FILE = Path(__file__).with_name("probes.yaml")
SPLITS = ("train", "held_out")
KINDS = ("paraphrase", "other", "filler", "swap")
PER_FRAME = 60
"""Pairs of a kind that one frame gives at most: no frame outweighs the others."""
_SLOT = re.compile(r"\{(\w)\}")


@dataclass(frozen=True, slots=True)
class Probe:
    """Two requests.

    Attributes:
        frame: Where they come from; probes of one frame are not independent.
        kind: ``paraphrase`` (the same request), ``other`` (opposite, other task or attribute, denied),
            ``filler`` (another subject) or ``swap`` (subjects exchanged).
        same: Whether the answer to one is an answer to the other.
    """

    frame: str
    kind: str
    first: str
    second: str

    @property
    def same(self) -> bool:
        """Whether reuse is right."""
        return self.kind == "paraphrase"


def probes(split: str, seed: int = 0) -> list[Probe]:
    """The probes of a split: of each frame and kind at most :data:`PER_FRAME`, drawn by seed.

    Raises:
        DataError: An unknown split, or a frame whose forms name a slot that it lacks.
    """
    if split not in SPLITS:
        raise DataError(f"probes: split {split!r}: choose one of {', '.join(SPLITS)}")
    out: list[Probe] = []
    for frame in _frames()[split]:
        for kind in KINDS:
            made = sorted(set(_pairs(frame, kind)))
            order = generator(seed, "probes", frame["id"], kind).permutation(len(made))
            out += [Probe(frame["id"], kind, *made[int(i)]) for i in sorted(order[:PER_FRAME])]
    return out


@lru_cache(maxsize=1)
def _frames() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    raw: Mapping[str, Sequence[Mapping[str, Any]]] = yaml.safe_load(FILE.read_text())
    for frame in (frame for split in SPLITS for frame in raw[split]):
        for form in (*frame["same"], *frame["other"]):
            if not set(_SLOT.findall(form)) <= set(frame["slots"]):
                raise DataError(f"{FILE.name}, frame {frame['id']}: {form!r} names a slot that it lacks")
    return raw


def _filled(form: str, given: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda found: given[found.group(1)], form)


def _pairs(frame: Mapping[str, Any], kind: str) -> Iterator[tuple[str, str]]:
    slots = {name: [str(value) for value in values] for name, values in frame["slots"].items()}
    given = [dict(zip(slots, values, strict=True)) for values in product(*slots.values())]
    for fillers in given:
        if kind == "paraphrase":
            yield from ((_filled(a, fillers), _filled(b, fillers)) for a, b in combinations(frame["same"], 2))
        elif kind == "other":
            yield from (
                (_filled(a, fillers), _filled(b, fillers)) for a, b in product(frame["same"], frame["other"])
            )
        elif kind == "filler":
            changed = [{**fillers, n: v} for n in slots for v in slots[n] if v != fillers[n]]
            yield from (
                (_filled(a, fillers), _filled(b, other))
                for other in changed
                for a, b in product(frame["same"][:2], frame["same"][:2])
            )
        elif kind == "swap" and "swap" in frame:
            one, two = frame["swap"]
            exchanged = {**fillers, one: fillers[two], two: fillers[one]}
            yield from (
                (_filled(a, fillers), _filled(b, exchanged)) for a in frame["same"] for b in frame["same"]
            )

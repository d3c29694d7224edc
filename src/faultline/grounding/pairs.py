"""Premise-hypothesis pairs, and the fixed rule that holds some of them out."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from faultline.stats import generator

Label = Literal["entailment", "neutral", "contradiction"]
LABELS: tuple[Label, ...] = ("entailment", "neutral", "contradiction")
"""Label order of the logits of our own checkpoint."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One example.

    Attributes:
        premise: The evidence.
        hypothesis: The claim.
        label: What the evidence says of the claim.
        source: Data set that it comes from.
        form: Surface form or construction (``qa``, ``relation``, ``stage4``, ``plain``, ...).
        group: Pairs of one group stay on one side of every split (question id, or a digest of the premise).
    """

    premise: str
    hypothesis: str
    label: Label
    source: str
    form: str
    group: str


def normalised(text: str) -> str:
    """Lower case, letters and digits only, single spaces: equality for de-duplication and leak checks."""
    return " ".join(re.findall(r"\w+", text.lower()))


def fraction(group: str) -> float:
    """A fixed number in [0, 1) for a group, from a hash: no seed, no call order."""
    return int.from_bytes(hashlib.sha256(group.encode()).digest()[:8], "big") / 2**64


def held_out(group: str, share: float) -> bool:
    """Whether a group belongs to the held-out share. The rule is committed: it never changes with a seed."""
    return fraction("held-out:" + group) < share


def distinct(pairs: Iterable[Pair]) -> list[Pair]:
    """The first of every (premise, hypothesis) that is equal after :func:`normalised`, order kept."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for pair in pairs:
        key = (normalised(pair.premise), normalised(pair.hypothesis))
        if key not in seen:
            seen.add(key)
            kept.append(pair)
    return kept


def capped(pairs: Iterable[Pair], caps: Mapping[str, int], seed: int) -> list[Pair]:
    """At most ``caps[source]`` pairs of a source, label by label in equal parts where there are enough.

    Which pairs stay depends on a hash of the pair and the seed, so that adding a source moves no other.

    Args:
        pairs: Any order.
        caps: By source; a source without a cap stays whole.
        seed: Varies the choice.
    """
    buckets: dict[str, dict[str, list[tuple[float, Pair]]]] = defaultdict(lambda: defaultdict(list))
    for pair in pairs:
        rank = fraction(f"{seed}\x1f{pair.premise}\x1f{pair.hypothesis}")
        buckets[pair.source][pair.label].append((rank, pair))
    kept: list[Pair] = []
    for source in sorted(buckets):
        parts = {label: sorted(found, key=lambda item: item[0]) for label, found in buckets[source].items()}
        room = caps.get(source, sum(map(len, parts.values())))
        for left, label in zip(
            range(len(parts), 0, -1), sorted(parts, key=lambda k: len(parts[k])), strict=True
        ):
            take = parts[label][: room // left]
            room -= len(take)
            kept.extend(pair for _, pair in take)
    return shuffled(kept, seed)


def shuffled(pairs: Sequence[Pair], seed: int) -> list[Pair]:
    """A seeded permutation."""
    order = generator(seed, "shuffle").permutation(len(pairs))
    return [pairs[i] for i in order]

"""A memory that serves what was said to a request that means the same, and only then."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from faultline.errors import ConfigError
from faultline.memory.index import VectorIndex
from faultline.memory.reuse import ReuseCheck

Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]
EVICTIONS = ("lru", "lfu", "fifo")
NEIGHBOURS = 5
"""Nearest requests that are checked: the very nearest is often the opposite."""


@dataclass(slots=True)
class Entry:
    """What was said to a request.

    Attributes:
        uses: How often it was served.
        used: Tick of its last use; of its making, if it never was.
    """

    said: str
    made: int
    used: int
    uses: int = 0


@dataclass
class SemanticMemory:
    """Implements :class:`faultline.agents.review_chain.StageMemory`.

    Attributes:
        encode: Texts to unit rows.
        size: Of a row.
        tau: Cosine from which a request is near enough (the paper: .87).
        check: Whether a near request is the same request; None serves whatever is near, as the paper did.
        bound: Entries at most (the paper: 300).
        eviction: Which entry gives way: ``lru``, ``lfu`` (of those the least recent) or ``fifo``.
    """

    encode: Encode
    size: int
    tau: float = 0.87
    check: ReuseCheck | None = None
    bound: int = 300
    eviction: str = "lru"
    entries: OrderedDict[str, Entry] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        if self.eviction not in EVICTIONS or self.bound < 1 or not -1.0 <= self.tau <= 1.0:
            raise ConfigError(
                f"memory: eviction={self.eviction} of {', '.join(EVICTIONS)}, bound={self.bound} at least 1, "
                f"tau={self.tau} within [-1, 1]"
            )
        self._index = VectorIndex(self.size)
        self._words: dict[str, npt.NDArray[np.float32]] = {}
        self._tick = 0

    def get(self, text: str) -> str | None:
        """What was said to this request or one that counts as the same; None for a miss."""
        name = self.match(text)
        if name is None:
            return None
        self._tick += 1
        entry = self.entries[name]
        entry.uses, entry.used = entry.uses + 1, self._tick
        return entry.said

    def match(self, text: str) -> str | None:
        """The remembered request that counts as the same, without using it; None if there is none."""
        if text in self.entries:
            return text
        if not self.entries:
            return None
        near = self._index.nearest(self.encode([text])[0], NEIGHBOURS if self.check else 1)
        for name, cosine in near:
            if cosine >= self.tau and (
                self.check is None or self.check.allows(name, text, cosine, self._vectors)
            ):
                return name
        return None

    def put(self, text: str, said: str) -> None:
        """Remember what was said; beyond the bound an entry gives way."""
        self._tick += 1
        if text in self.entries:
            self.entries[text].said = said
            return
        self.entries[text] = Entry(said, self._tick, self._tick)
        self._index.add(text, self.encode([text])[0])
        if len(self.entries) > self.bound:
            self.remove(self._gives_way(besides=text))

    def remove(self, text: str) -> None:
        """Forget a request; one that is not there changes nothing."""
        if self.entries.pop(text, None) is not None:
            self._index.remove(text)

    def _gives_way(self, besides: str) -> str:
        old = (name for name in self.entries if name != besides)
        if self.eviction == "fifo":
            return min(old, key=lambda name: self.entries[name].made)
        if self.eviction == "lru":
            return min(old, key=lambda name: self.entries[name].used)
        return min(old, key=lambda name: (self.entries[name].uses, self.entries[name].used))

    def _vectors(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """Of single words, each computed once."""
        new = [word for word in dict.fromkeys(words) if word not in self._words]
        if new:
            self._words.update(zip(new, self.encode(new), strict=True))
        return np.stack([self._words[word] for word in words])

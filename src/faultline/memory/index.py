"""Nearest neighbours by cosine among vectors that come and go: exact while few, prefiltered when many."""

from __future__ import annotations

import faiss
import numpy as np
import numpy.typing as npt

from faultline.errors import ConfigError

FloatRow = npt.NDArray[np.float32]
EXACT_BELOW = 4096
"""Vectors up to which every one is compared."""
CANDIDATES = 256
"""Vectors that the prefilter leaves to be compared exactly."""
FIRST_CAPACITY = 256


class VectorIndex:
    """Unit vectors by key.

    Above ``exact_below`` vectors a search compares sign bits first (their Hamming distance grows with the
    angle), and the ``candidates`` nearest of them exactly. Removing takes the last vector into the gap, so
    that nothing else moves.

    Args:
        size: Dimensions, a multiple of 8.
        exact_below: See above.
        candidates: See above.

    Raises:
        ConfigError: A size that does not pack into bytes, or no candidates.
    """

    def __init__(self, size: int, exact_below: int = EXACT_BELOW, candidates: int = CANDIDATES) -> None:
        if size <= 0 or size % 8 or candidates < 1:
            raise ConfigError(
                f"index: size={size} must be a multiple of 8, candidates={candidates} at least 1"
            )
        self._exact_below, self._candidates = exact_below, candidates
        self._vectors = np.empty((FIRST_CAPACITY, size), np.float32)
        self._bits = np.empty((FIRST_CAPACITY, size // 8), np.uint8)
        self._keys: list[str] = []
        self._place: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._place

    def add(self, key: str, vector: FloatRow) -> None:
        """Add a unit vector, or replace that of a key.

        Raises:
            ConfigError: Another shape.
        """
        if vector.shape != (self._vectors.shape[1],):
            raise ConfigError(
                f"index: a vector of shape {vector.shape}, expected ({self._vectors.shape[1]},)"
            )
        at = self._place.get(key, len(self._keys))
        if at == len(self._keys):
            if at == len(self._vectors):
                self._grow()
            self._keys.append(key)
            self._place[key] = at
        self._vectors[at] = vector
        self._bits[at] = np.packbits(vector > 0)

    def remove(self, key: str) -> None:
        """Take a key out; one that is not there changes nothing."""
        at = self._place.pop(key, None)
        if at is None:
            return
        last = self._keys.pop()
        if last != key:
            end = len(self._keys)
            self._vectors[at], self._bits[at] = self._vectors[end], self._bits[end]
            self._keys[at], self._place[last] = last, at

    def nearest(self, vector: FloatRow, count: int = 1) -> list[tuple[str, float]]:
        """The nearest keys with their cosine, best first; equal cosines in the order of their keys.

        Args:
            vector: Unit vector, shape (size,).
            count: At most so many.
        """
        n = len(self._keys)
        if not n:
            return []
        rows = np.arange(n) if n <= self._exact_below else self._prefiltered(vector, n)
        cosines = self._vectors[:n] @ vector if len(rows) == n else self._vectors[rows] @ vector
        kept = np.argpartition(-cosines, count - 1)[:count] if count < len(rows) else np.arange(len(rows))
        found = [(self._keys[int(rows[i])], float(cosines[i])) for i in kept]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))

    def _prefiltered(self, vector: FloatRow, n: int) -> npt.NDArray[np.int64]:
        bits = np.packbits(vector > 0)[None]
        _, near = faiss.knn_hamming(bits, self._bits[:n], min(self._candidates, n))
        return np.asarray(near[0], dtype=np.int64)

    def _grow(self) -> None:
        for name in ("_vectors", "_bits"):
            old = getattr(self, name)
            wider = np.empty((2 * len(old), old.shape[1]), old.dtype)
            wider[: len(old)] = old
            setattr(self, name, wider)

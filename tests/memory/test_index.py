import numpy as np
import pytest

from faultline.errors import ConfigError
from faultline.memory.index import VectorIndex

SIZE = 64


def unit(rng, n):
    """Clustered unit rows: near neighbours exist, as among requests."""
    centres = rng.normal(size=(max(1, n // 20), SIZE))
    rows = (centres[rng.integers(0, len(centres), n)] + 0.4 * rng.normal(size=(n, SIZE))).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_searches_among_few_are_a_full_comparison_also_after_deletions():
    rng = np.random.default_rng(0)
    rows, queries = unit(rng, 600), unit(rng, 40)
    index = VectorIndex(SIZE)
    for i, row in enumerate(rows):
        index.add(f"k{i}", row)
    gone = {f"k{i}" for i in rng.choice(600, 250, replace=False)}
    for key in gone:
        index.remove(key)
        index.remove(key)
    left = [i for i in range(600) if f"k{i}" not in gone]
    assert len(index) == len(left) and "k-1" not in index
    for query in queries:
        cosines = {f"k{i}": float(rows[i] @ query) for i in left}
        wanted = sorted(cosines, key=lambda key: (-cosines[key], key))[:7]
        found = index.nearest(query, 7)
        assert [key for key, _ in found] == wanted
        assert [c for _, c in found] == pytest.approx([cosines[key] for key in wanted], abs=1e-6)


def test_the_prefilter_finds_what_a_full_comparison_finds():
    rng = np.random.default_rng(1)
    rows = unit(rng, 6000)
    index = VectorIndex(SIZE, exact_below=100, candidates=256)
    for i, row in enumerate(rows):
        index.add(str(i), row)
    for i in range(0, 6000, 3):
        index.remove(str(i))
    kept = [i for i in range(6000) if i % 3]
    queries = rows[rng.choice(kept, 300)] + 0.05 * rng.normal(size=(300, SIZE)).astype(np.float32)
    queries = (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float32)
    best = np.array(kept)[(queries @ rows[kept].T).argmax(axis=1)]
    found = [index.nearest(query)[0][0] for query in queries]
    assert np.mean([f == str(b) for f, b in zip(found, best, strict=True)]) >= 0.999


def test_a_key_is_replaced_and_an_empty_index_finds_nothing():
    index = VectorIndex(8)
    assert index.nearest(np.ones(8, np.float32)) == []
    one, other = np.eye(8, dtype=np.float32)[:2]
    index.add("a", one)
    index.add("a", other)
    assert index.nearest(other) == [("a", 1.0)] and len(index) == 1


def test_what_cannot_be_indexed_is_refused():
    with pytest.raises(ConfigError, match="multiple of 8"):
        VectorIndex(12)
    with pytest.raises(ConfigError, match=r"shape \(4,\), expected \(8,\)"):
        VectorIndex(8).add("a", np.ones(4, np.float32))

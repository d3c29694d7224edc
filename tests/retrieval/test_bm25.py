"""BM25 against the formula written as a loop (Lucene's variant)."""

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultline.records import Passage
from faultline.retrieval.bm25 import Bm25
from tests.small_corpus import PASSAGES

STOP = {
    *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no"),
    *("not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this"),
    *("to", "was", "will", "with"),
}


def words(text):
    """Lower-case words of two letters or more that are no stop words."""
    return [w for w in re.findall(r"\w+", text.lower()) if len(w) > 1 and w not in STOP]


def literal(passages, query, k1=1.5, b=0.75):
    """Score of each passage: the sum over query words of idf times saturated frequency."""
    documents = [words(p.rendered) for p in passages]
    average = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for word in words(query):
            holding = sum(word in other for other in documents)
            frequency = document.count(word)
            idf = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            length = 1 - b + b * len(document) / average
            score += idf * frequency / (frequency + k1 * length)
        scores.append(score)
    return scores


POOL = list(PASSAGES.values())
QUERIES = [
    "Who wrote the novel The Glass Harbour?",
    "Where was Ada Quill born?",
    "quill quill born",
    "novel printed in 1902 or 1877",
    "Skarholt",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (1.2, 0.0)])
def test_scores_and_order_are_the_formulas(query, k1, b):
    hits = Bm25(k1, b).index(POOL).search(query, len(POOL))
    wanted = dict(zip([p.id for p in POOL], literal(POOL, query, k1, b), strict=True))
    assert {hit.passage.id: hit.score for hit in hits} == pytest.approx(wanted, abs=1e-5)
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.lists(st.sampled_from(["red", "blue", "green", "the", "ox"]), min_size=1, max_size=6), min_size=1
    )
)
def test_on_any_small_pool(texts):
    pool = [Passage(f"p{i}", "", (" ".join(text),)) for i, text in enumerate(texts)]
    if not any(words(p.text) for p in pool):
        return
    hits = Bm25().index(pool).search("red ox blue red", len(pool))
    wanted = dict(zip([p.id for p in pool], literal(pool, "red ox blue red"), strict=True))
    assert {hit.passage.id: hit.score for hit in hits} == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("query", ["", "the of", "zzz qqq"])
def test_a_query_without_a_known_word_ranks_by_id(query):
    hits = Bm25().index(POOL).search(query, 3)
    assert [h.passage.id for h in hits] == sorted(PASSAGES)[:3]
    assert {h.score for h in hits} == {0.0}


def test_equal_passages_rank_by_id():
    pool = [Passage(name, "T", ("Same text.",)) for name in ("c", "a", "b")]
    assert [h.passage.id for h in Bm25().index(pool).search("same", 3)] == ["a", "b", "c"]


def test_a_pool_without_any_word_still_ranks():
    pool = [Passage("b", "", ("...",)), Passage("a", "", ("",))]
    assert [h.passage.id for h in Bm25().index(pool).search("word", 2)] == ["a", "b"]


def test_replacing_makes_another_index_and_leaves_this_one():
    index = Bm25().index(POOL)
    before = index.search("Ada Quill novel", 5)
    changed = Passage("harbour", "The Glass Harbour", ("The Glass Harbour is a novel by Zeb Zorn.",))
    other = index.replaced(changed)
    assert index.search("Ada Quill novel", 5) == before
    assert other.search("Zorn", 1)[0].passage == changed
    assert "harbour" not in [h.passage.id for h in other.search("Quill", 8) if h.score > 0]
    pool = [changed if p.id == "harbour" else p for p in POOL]
    assert other.search("novel Quill", 8) == Bm25().index(pool).search("novel Quill", 8)
    assert index.search("Zorn", 1)[0].score == 0.0


def test_a_passage_of_another_pool_replaces_nothing():
    stranger = Passage("stranger", "Zeb", ("Zorn.",))
    assert Bm25().index(POOL).replaced(stranger).search("novel", 8) == Bm25().index(POOL).search("novel", 8)

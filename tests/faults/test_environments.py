"""Changed passages in one call or in the index itself, over an environment that answers by rote."""

from faultline.faults.environments import CallFault, CorpusFault
from faultline.records import Hint, Hit, Passage
from faultline.retrieval.bm25 import Bm25
from tests.small_corpus import PASSAGES

CHANGED = Passage("harbour", "The Glass Harbour", ("The Glass Harbour is a novel by Zeb Zorn.",))
CLEAN = tuple(
    Hit(PASSAGES[name], 3.0 - rank, rank) for rank, name in enumerate(("quill", "harbour"), start=1)
)


class Rote:
    def search(self, query, k, stage):
        return CLEAN[:k]

    def hints(self, stage):
        return (Hint("h", "v", stage),)


def test_a_call_fault_changes_one_passage_at_one_stage():
    environment = CallFault(Rote(), 4, CHANGED)
    for stage in (1, 2, 3, 5):
        assert environment.search("q", 5, stage) == CLEAN
    first, second = environment.search("q", 5, 4)
    assert first == CLEAN[0]
    assert second == Hit(CHANGED, CLEAN[1].score, CLEAN[1].rank)
    assert environment.search("q", 1, 4) == CLEAN[:1], "the original did not come back, so nothing changes"


def test_a_corpus_fault_changes_every_call_and_not_the_clean_index():
    index = Bm25().index(list(PASSAGES.values()))
    environment = CorpusFault(Rote(), index, CHANGED)
    for stage in (1, 4):
        assert environment.search("Zorn", 1, stage)[0].passage == CHANGED
    assert index.search("Zorn", 1)[0].score == 0.0
    others = [h.passage for h in environment.search("novel", 99, 1) if h.passage.id != "harbour"]
    assert sorted(p.id for p in others) == sorted(set(PASSAGES) - {"harbour"})
    assert all(p == PASSAGES[p.id] for p in others)


def test_hints_pass_through():
    index = Bm25().index(list(PASSAGES.values()))
    for environment in (CallFault(Rote(), 1, CHANGED), CorpusFault(Rote(), index, CHANGED)):
        assert environment.hints(3) == (Hint("h", "v", 3),)

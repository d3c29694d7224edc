"""Pools of a question and of the whole data set, and the environment that agents call."""

import pytest

from faultline.errors import ConfigError
from faultline.records import Passage
from faultline.retrieval.bm25 import Bm25
from faultline.retrieval.environment import Environments


class Counted(Bm25):
    """Counts the indexes that are built."""

    def __init__(self):
        super().__init__()
        self.built = []

    def index(self, passages):
        self.built.append([p.id for p in passages])
        return super().index(passages)


def test_a_question_searches_its_own_passages(small):
    environments = Environments(small, Bm25())
    for task in small.tasks:
        hits = environments.clean(task).search(task.question, 99, 1)
        assert {h.passage.id for h in hits} == set(small.pools[task.corpus_ref])


def test_the_whole_pool_is_shared_and_built_once(small):
    builder = Counted()
    environments = Environments(small, builder, "all")
    for task in small.tasks:
        hits = environments.clean(task).search(task.question, 99, 1)
        assert {h.passage.id for h in hits} == set(small.passages)
    assert len(builder.built) == 1


def test_the_whole_pool_of_the_synthetic_world(synthetic):
    environment = Environments(synthetic, Bm25(), "all").clean(synthetic.tasks[0])
    assert len(environment.search("novel", 10_000, 1)) == len(synthetic.passages)


def test_an_index_is_built_once_a_pool(small):
    builder = Counted()
    environments = Environments(small, builder)
    for _ in range(2):
        for task in small.tasks:
            environments.clean(task).search("x", 1, 1)
    assert builder.built == [list(small.pools[task.corpus_ref]) for task in small.tasks]


def test_the_stage_makes_no_difference_and_there_are_no_hints(small):
    environment = Environments(small, Bm25()).clean(small.tasks[0])
    assert environment.search("novel", 3, 1) == environment.search("novel", 3, 4)
    assert environment.hints(1) == ()


def test_another_pool_is_refused(small):
    with pytest.raises(ConfigError, match=r"retrieval\.pool=world: choose one of question, all"):
        Environments(small, Bm25(), "world")


def test_a_changed_index_of_one_task_is_not_seen_by_another(small):
    environments = Environments(small, Bm25(), "all")
    one, two = (environments.clean(task) for task in small.tasks[:2])
    before = two.search("Ada Quill", 8, 1)
    one.retriever.replaced(Passage("quill", "X", ("Nothing.",))).search("Ada Quill", 8)
    assert two.search("Ada Quill", 8, 1) == before == one.search("Ada Quill", 8, 1)

"""Released trees: what a node says, what is refused, and the join to gold plans."""

import gzip
import json

import pytest

from experiments.charm_natural_traces import exact, joined, named
from faultline.corpora.probtree import read_trees
from faultline.errors import DataError
from tests import small_corpus


def node(text, answer, sons=()):
    return {"question_text": text, "question": text, "sons": list(sons), "answer": [answer, -0.1, ""]}


def written(tmp_path, trees):
    path = tmp_path / "trees.json.gz"
    path.write_bytes(gzip.compress(json.dumps(trees).encode()))
    return path


def bridge(*answers, second="Where was #1 born?"):
    question = "Where was the author of the novel The Glass Harbour born?"
    texts = ("Who wrote The Glass Harbour?", second, question)
    sons = ((), (), (0, 1))
    return [node(t, a, s) for t, a, s in zip(texts, answers, sons, strict=True)]


def test_unknown_is_no_answer(tmp_path):
    tree = read_trees(written(tmp_path, [bridge("Unknown", "Tarnwick.", None)]))[0]
    assert [n.answer for n in tree.nodes] == [None, "Tarnwick.", None]
    assert tree.flat and not tree.root.leaf and len(tree.steps) == 2


def test_only_plans_of_the_same_shape_are_joined(tmp_path):
    corpus = small_corpus.build()
    trees = read_trees(
        written(
            tmp_path,
            [
                bridge("Ada Quill", "Tarnwick", "Tarnwick"),
                bridge("Ada Quill", "Tarnwick", "Tarnwick", second="Where was Ada Quill born?"),
                [node("Who?", "Ann"), node("Is it?", "yes", (0,))],
                [
                    node("Who?", "Ann", (3,)),
                    node("Where was the author of the novel The Glass Harbour born?", "X", (0,)),
                ],
            ],
        )
    )
    pairs, lost = joined(trees, corpus)
    assert [gold.task_id for _, gold in pairs] == ["bridge-1"]
    assert lost == {"other_plan": 1, "question_not_here": 1, "nested": 1}


@pytest.mark.parametrize(
    ("answer", "gold", "equal", "part"),
    [
        ("The UEFA.", "UEFA", True, True),
        ("Union of Associations (UEFA).", "UEFA", False, True),
        ("Paris", "Parison", False, False),
    ],
)
def test_matchers(answer, gold, equal, part):
    assert (exact(answer, gold), named(answer, gold)) == (equal, part)


@pytest.mark.parametrize(
    ("trees", "told"),
    [({}, "dict"), ([[]], "tree 0"), ([[{"sons": []}]], "question_text"), ([["x"]], "node 0")],
)
def test_broken_files_are_named(tmp_path, trees, told):
    with pytest.raises(DataError, match=told):
        read_trees(written(tmp_path, trees))


def test_a_missing_or_cut_file_is_named(tmp_path):
    with pytest.raises(DataError, match="FAULTLINE_DATA_DIR"):
        read_trees(tmp_path / "none.gz")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"[]")[:-4])
    with pytest.raises(DataError, match=r"cut\.gz"):
        read_trees(tmp_path / "cut.gz")

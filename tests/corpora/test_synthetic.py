"""The synthetic world as a data set: determinism, stable prefixes, errors, and no real-world names."""

import gzip
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultline.corpora.digest import corpus_digest
from faultline.corpora.synthetic import DEFAULT_QUESTIONS, Synthetic
from faultline.corpora.synthetic.names import world_names
from faultline.errors import ConfigError
from faultline.records import Gold, Passage, Task

GOLDEN = "a5b7e0d1bac8b5de5ed65ed08296abb1609c0e75ecfcac6e50c2565cb40260e6"
KINDS = sorted(DEFAULT_QUESTIONS)


@pytest.fixture(scope="module")
def corpus():
    return Synthetic().load()


def test_golden_digest(corpus):
    assert corpus.version == 1, "a new version needs a new golden digest"
    assert corpus.digest == GOLDEN, "the output changed: bump Synthetic.version and the golden digest"


def test_counts_match_the_settings(corpus):
    assert len(corpus.tasks) == len(corpus.gold) == sum(DEFAULT_QUESTIONS.values())
    assert len({task.question for task in corpus.tasks}) == len(corpus.tasks)
    assert {task.id.split("-")[1] for task in corpus.tasks} == set(DEFAULT_QUESTIONS)
    assert corpus.pools["world"] == tuple(corpus.passages)
    assert not corpus.skipped


def test_seeds_give_other_worlds():
    one, other = Synthetic(0, {"2hop": 5}).load(), Synthetic(1, {"2hop": 5}).load()
    assert one.digest != other.digest
    titles = [{passage.title for passage in world.passages.values()} for world in (one, other)]
    assert len(titles[0] & titles[1]) < 0.02 * len(titles[0])


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 1000), kind=st.sampled_from(KINDS), few=st.integers(0, 5), more=st.integers(1, 10))
def test_asking_for_more_leaves_the_first_unchanged(seed, kind, few, more):
    short = Synthetic(seed, {kind: few}).load()
    long = Synthetic(seed, {"2hop": 2, kind: few + more}).load()
    assert short.passages == long.passages
    for task in short.tasks:
        assert task in long.tasks
        assert short.gold[task.id] == long.gold[task.id]
        assert short.pools[task.id] == long.pools[task.id]


@pytest.mark.slow
def test_scales_to_two_thousand_of_each():
    corpus = Synthetic(questions=dict.fromkeys(KINDS, 2000)).load()
    assert len({task.question for task in corpus.tasks}) == 12_000


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"questions": {"7hop": 1}}, "unknown kind '7hop'"),
        ({"questions": {"2hop": -1}}, "questions.2hop is -1"),
    ],
)
def test_bad_settings_are_named(settings_, words):
    with pytest.raises(ConfigError, match=words):
        Synthetic(**settings_)


def test_a_pool_too_small_is_an_error():
    with pytest.raises(ConfigError, match="raise pool_size"):
        Synthetic(questions={"6hop": 1}, pool_size=5).load()
    corpus = Synthetic(questions={"6hop": 3}, pool_size=6).load()
    assert all(set(corpus.pools[task.id]) == set(corpus.gold[task.id].support) for task in corpus.tasks)


def test_digest_sees_every_part_and_no_mapping_order():
    task, gold = Task("t", "q?", "p"), Gold("t", ("a",), (), ("x",), "bridge")
    one, two = Passage("x", "X", ("A.",)), Passage("y", "Y", ("B.",))
    base = corpus_digest([task], {"t": gold}, {"x": one, "y": two}, {"p": ("x", "y")})
    assert base == corpus_digest([task], {"t": gold}, {"y": two, "x": one}, {"p": ("x", "y")})
    others = [
        corpus_digest([Task("t", "r?", "p")], {"t": gold}, {"x": one, "y": two}, {"p": ("x", "y")}),
        corpus_digest([task], {}, {"x": one, "y": two}, {"p": ("x", "y")}),
        corpus_digest([task], {"t": gold}, {"x": one}, {"p": ("x", "y")}),
        corpus_digest([task], {"t": gold}, {"x": one, "y": two}, {"p": ("y", "x")}),
    ]
    assert len({base, *others}) == 5


@pytest.mark.data
def test_no_invented_word_occurs_in_real_data():
    root = os.environ.get("FAULTLINE_DATA_DIR")
    if not root:
        pytest.skip("FAULTLINE_DATA_DIR is not set")
    real: set[str] = set()
    for path in sorted(Path(root).glob("[h2m]*/*.gz")):
        real.update(re.findall(r"\w+", gzip.decompress(path.read_bytes()).decode()))
    assert len(real) > 50_000
    invented = {word for named in world_names(0).values() for _, parts in named for word in parts}
    assert not invented & real
    assert json.dumps(sorted(invented)).isascii()

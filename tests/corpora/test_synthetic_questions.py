"""Questions of the synthetic world, checked against its passages only, by literal loops."""

import re
from collections import Counter

import bm25s
import pytest

from faultline.corpora.synthetic import Synthetic
from faultline.corpora.synthetic.world import build_world

CHAINS = ("bridge", "compositional3", "compositional4", "compositional5", "compositional6")


@pytest.fixture(scope="module")
def corpus():
    return Synthetic().load()


def occurs(value, text):
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def nearly(one, other):
    """Equal, or one letter apart."""
    return len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) <= 1


def filled(hops, number):
    query = hops[number].query
    for earlier in range(number, 0, -1):
        query = query.replace(f"#{earlier}", hops[earlier - 1].answer)
    return query


def test_every_hop_answer_stands_at_its_span_once(corpus):
    for gold in corpus.gold.values():
        for hop in gold.hops:
            text = corpus.passages[hop.passage_id].text
            assert text[hop.span[0] : hop.span[1]] == hop.answer
            if gold.answers != ("yes",):
                assert len(re.findall(rf"(?<!\w){re.escape(hop.answer)}(?!\w)", text)) == 1


def test_chains_link_by_what_was_read(corpus):
    for gold in corpus.gold.values():
        if gold.question_type not in CHAINS:
            continue
        assert gold.answer_hop == len(gold.hops) == len(set(gold.support))
        assert gold.answers[0] == gold.hops[-1].answer
        for number, hop in enumerate(gold.hops, start=1):
            entity = hop.entity if number == 1 else gold.hops[number - 2].answer
            assert occurs(entity, corpus.passages[hop.passage_id].text), "a passage names its own entity"
            assert hop.depends_on == (() if number == 1 else (number - 1,))
            assert (f"#{number - 1}" in hop.query) == (number > 1)
            assert number == 1 or hop.entity == f"#{number - 1}"


def test_chains_cannot_be_cut_short(corpus):
    for task in corpus.tasks:
        gold = corpus.gold[task.id]
        if gold.question_type == "comparison":
            continue
        assert occurs(gold.hops[0].entity, task.question)
        for number, hop in enumerate(gold.hops):
            assert not occurs(hop.answer, task.question)
            for earlier in gold.support[:number]:
                assert not occurs(hop.answer, corpus.passages[earlier].text)


def test_comparisons_follow_from_the_values(corpus):
    seen = Counter()
    for task in corpus.tasks:
        gold = corpus.gold[task.id]
        if gold.question_type != "comparison":
            continue
        assert gold.answer_hop is None
        first, second = gold.hops
        assert occurs(first.entity, task.question)
        assert occurs(second.entity, task.question)
        if re.search(r"\bsame\b", task.question):
            expected = "yes" if first.answer == second.answer else "no"
        else:
            a, b = (int(hop.answer.replace(",", "")) for hop in gold.hops)
            if task.question.startswith(("Wh",)):
                lower = re.search(r"earlier|smaller", task.question) is not None
                expected = (first if (a < b) == lower else second).entity
            else:
                expected = "yes" if a < b else "no"
        assert gold.answers == (expected,)
        seen[expected if expected in ("yes", "no") else "entity"] += 1
    assert min(seen["yes"], seen["no"], seen["entity"]) >= 3


def test_answers_are_functional():
    """One value per subject and relation, and names unique within a type: a question has one answer."""
    world = build_world(0)
    names = Counter((entity.type, entity.name) for entity in world.entities.values())
    assert max(names.values()) == 1
    for entity_id, facts in world.facts.items():
        targets = [fact.target for fact in facts.values() if fact.target]
        assert len(set(targets)) == len(targets)
        assert entity_id not in targets
        for fact in facts.values():
            assert fact.target is None or world.entities[fact.target].name == fact.value


def test_distractors_are_clean_and_confusable(corpus):
    world = build_world(0)
    with_namesake = 0
    for task in corpus.tasks:
        gold, pool = corpus.gold[task.id], corpus.pools[task.id]
        assert len(set(pool)) == 10
        assert set(gold.support) <= set(pool)
        distractors = [corpus.passages[i] for i in pool if i not in gold.support]
        named = {world.entities[i].name for i in gold.support}
        for passage in distractors:
            assert gold.answers[0] in ("yes", "no") or not occurs(gold.answers[0], passage.rendered)
            for hop in gold.hops:
                namesake = world.entities[passage.id].name in named
                assert namesake or not occurs(hop.answer, passage.rendered)
        words = {word for i in gold.support for word in world.entities[i].words}
        others = {word for passage in distractors for word in world.entities[passage.id].words}
        with_namesake += any(nearly(a, b) for a in words for b in others)
        types = {world.entities[i].type for i in gold.support}
        assert any(world.entities[p.id].type in types for p in distractors)
    assert with_namesake >= 0.95 * len(corpus.tasks)


def test_bm25_finds_what_the_queries_ask_for(corpus):
    """Recall by another library: the first passage from the question, each from its filled sub-query."""
    found, asked = Counter(), Counter()
    for task in corpus.tasks:
        gold, pool = corpus.gold[task.id], corpus.pools[task.id]
        index = bm25s.BM25()
        texts = [corpus.passages[i].rendered for i in pool]
        index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
        queries = [("question", gold.hops[0], task.question)] if gold.question_type == "bridge" else []
        queries += [("hop", hop, filled(gold.hops, number)) for number, hop in enumerate(gold.hops)]
        for name, hop, query in queries:
            tokens = bm25s.tokenize([query], show_progress=False)
            top = [pool[i] for i in index.retrieve(tokens, k=3, show_progress=False)[0][0]]
            asked[name] += 1
            found[name, 1] += top[0] == hop.passage_id
            found[name, 3] += hop.passage_id in top
    assert found["question", 1] >= 0.75 * asked["question"]
    assert found["question", 3] >= 0.95 * asked["question"]
    assert found["hop", 1] >= 0.85 * asked["hop"]
    assert found["hop", 3] >= 0.99 * asked["hop"]

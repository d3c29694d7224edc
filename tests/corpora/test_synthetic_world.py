"""Entities, passages and templates of the synthetic world."""

import re
from collections import Counter

import pytest

from faultline.corpora.synthetic.names import words, world_names
from faultline.corpora.synthetic.passages import write_passage
from faultline.corpora.synthetic.schema import LITERALS, answer_kind, schema
from faultline.corpora.synthetic.world import build_world

TYPES = list(schema().values())


@pytest.fixture(scope="module")
def world():
    return build_world(0)


@pytest.fixture(scope="module")
def written(world):
    return {i: write_passage(world, entity, 0) for i, entity in world.entities.items()}


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
def test_templates_are_complete(kind):
    assert all("{s}" in intro and "{d}" in intro for intro in kind.intros)
    for relation in kind.relations:
        assert relation.target in (*LITERALS, *schema())
        assert bool(relation.phrases) == (relation.target not in LITERALS)
        assert len(relation.sentences) >= 3
        assert all(
            s.count("{o}") == 1 and s.count("{s}") == 1 and s.endswith(".") for s in relation.sentences
        )
        assert all(q.count("{x}") == 1 and q.endswith("?") for q in relation.questions)
        assert all(p.count("{x}") == 1 for p in relation.phrases)
        for question in (*relation.which, *filter(None, (relation.before, relation.same))):
            assert "{a}" in question
            assert "{b}" in question
        assert not relation.which or answer_kind(relation) in ("year", "number")


def test_unknown_relations_are_key_errors():
    with pytest.raises(KeyError, match=r"ship\.author"):
        schema()["ship"].relation("author")


def test_words_are_distinct_and_some_nearly_the_same():
    stream = words("stem", 3)
    made = [next(stream) for _ in range(300)]
    assert len(set(made)) == 300
    near = sum(
        any(len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) == 1 for b in made[:i])
        for i, a in enumerate(made)
    )
    assert near > 50


def test_names_are_unique_in_a_type_and_shared_across(world):
    for name, named in world_names(0).items():
        assert len({n for n, _ in named}) == len(named) == schema()[name].count
    uses = Counter(entity.name for entity in world.entities.values())
    shared = [entity for entity in world.entities.values() if uses[entity.name] > 1]
    assert len(shared) > 100
    assert all(entity.title == f"{entity.name} ({entity.noun})" for entity in shared)


def test_facts_respect_time_and_place(world):
    for entity in world.entities.values():
        for name, fact in world.facts[entity.id].items():
            window = schema()[entity.type].relation(name).window
            if window is not None:
                gap = world.entities[fact.target].year - entity.year
                assert window[0] <= gap <= window[1]
        if entity.type == "region":
            capital = world.facts[entity.id]["capital"].target
            assert world.facts[capital]["located_in"].target == entity.id


def test_passages_state_every_fact_at_its_span(world, written):
    for entity_id, record in written.items():
        passage = record.passage
        assert 3 <= len(passage.sentences) <= 6
        assert world.entities[entity_id].name in passage.sentences[0]
        assert record.spans.keys() == world.facts[entity_id].keys()
        for name, (start, end) in record.spans.items():
            assert passage.text[start:end] == world.facts[entity_id][name].value
        assert not passage.sentences[0].startswith(" ")
        assert all(s.startswith(" ") for s in passage.sentences[1:])
        assert not re.search(r"[{}\x00]|  |\ba [aeiou]", passage.text)


def test_surfaces_vary(written):
    """Order and wording differ: no first fact or template dominates."""
    first = Counter(min(r.spans, key=r.spans.get) for i, r in written.items() if i.startswith("novel"))
    assert len(first) == 4
    assert max(first.values()) < 0.5 * sum(first.values())

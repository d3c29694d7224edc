"""Passages of the synthetic world: one per entity, several templates, and the place of every value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultline.corpora.synthetic.schema import Relation, schema
from faultline.corpora.synthetic.world import Entity, World
from faultline.records import Passage
from faultline.stats import generator

HOLE = "\x00"
ASIDES = ("By contrast, ", "Not to be confused with it: ", "Elsewhere, ", "In the same years, ")
ASIDE_SHARE = 0.5
INTRO_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Written:
    """A passage and where each relation's value stands in its text: (start, end) in characters."""

    passage: Passage
    spans: dict[str, tuple[int, int]]


def write_passage(world: World, entity: Entity, seed: int) -> Written:
    """The passage of an entity: an introduction (mostly), its facts in any order, and perhaps an aside.

    The first sentence always names the entity. An aside states a true fact of another entity of its type.
    """
    rng = generator(seed, "synthetic", "passage", entity.id)
    kind = schema()[entity.type]
    pronoun, possessive = _pronouns(entity, rng)
    relations = [kind.relation(name) for name in world.facts[entity.id]]
    order = [relations[i] for i in rng.permutation(len(relations))]
    sentences: list[str] = []
    spans: dict[str, tuple[int, int]] = {}
    if rng.random() < INTRO_SHARE or len(order) < 3:
        detail = kind.details[int(rng.integers(len(kind.details)))]
        intro = kind.intros[int(rng.integers(len(kind.intros)))]
        sentences.append(_capital(intro.format(s=entity.label, d=detail, noun=entity.noun)))
    length = len(sentences[0]) if sentences else 0
    for relation in order:
        template = relation.sentences[int(rng.integers(len(relation.sentences)))]
        subject = _subject(entity, template, pronoun, rng) if sentences else entity.label
        lead = " " if sentences else ""
        value = world.facts[entity.id][relation.name].value
        text, start = _stated(lead, template, subject, value, possessive)
        spans[relation.name] = (length + start, length + start + len(value))
        sentences.append(text)
        length += len(text)
    if len(sentences) < 6 and rng.random() < ASIDE_SHARE:
        sentences.append(_aside(world, entity, rng))
    return Written(Passage(entity.id, entity.title, tuple(sentences)), spans)


def _pronouns(entity: Entity, rng: np.random.Generator) -> tuple[str, str]:
    if entity.type != "person":
        return "it", "its"
    return ("she", "her") if rng.random() < 0.5 else ("he", "his")


def _subject(entity: Entity, template: str, pronoun: str, rng: np.random.Generator) -> str:
    """Name, noun or pronoun; the name where the subject does not come first (pronouns would inflect)."""
    if not template.startswith("{s}"):
        return entity.label
    return (entity.label, f"the {entity.noun}", pronoun)[int(rng.integers(3))]


def _stated(lead: str, template: str, subject: str, value: str, possessive: str) -> tuple[str, int]:
    sentence = lead + _capital(template.format(s=subject, o=HOLE, p=possessive))
    start = sentence.index(HOLE)
    return sentence.replace(HOLE, value), start


def _aside(world: World, entity: Entity, rng: np.random.Generator) -> str:
    """A fact of a namesake of the same type if there is one, else of any other of the type."""
    same = [other for other in world.namesakes(entity.id) if world.entities[other].type == entity.type]
    others = same or [other for other in world.by_type[entity.type] if other != entity.id]
    other = world.entities[others[int(rng.integers(len(others)))]]
    relations: list[Relation] = [r for r in schema()[other.type].relations if r.name in world.facts[other.id]]
    relation = relations[int(rng.integers(len(relations)))]
    value = world.facts[other.id][relation.name].value
    sentence = relation.sentences[0].format(s=other.label, o=value, p="its")
    return f" {ASIDES[int(rng.integers(len(ASIDES)))]}{sentence}"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]

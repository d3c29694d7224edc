"""Entities of the synthetic world and their facts."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from faultline.corpora.synthetic.names import TRADES, world_names
from faultline.corpora.synthetic.schema import EntityType, Relation, schema
from faultline.stats import generator

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fact:
    """The value of one relation.

    Attributes:
        value: As written in passages.
        target: Id of the entity that the value names, None for literals.
        amount: Year or number, for comparisons.
    """

    value: str
    target: str | None = None
    amount: int | None = None


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity: its passage has the same id. ``words`` are the invented words of its name."""

    id: str
    type: str
    name: str
    title: str
    noun: str
    words: tuple[str, ...]
    year: int

    @property
    def label(self) -> str:
        """How running text and questions name it."""
        return schema()[self.type].label.format(n=self.name)


@dataclass(frozen=True, slots=True)
class World:
    """All entities by id, their facts by relation, and the indexes that questions and pools need.

    ``by_shape`` is by word with one letter blanked, so that words one letter apart meet there; ``known``
    keeps the namesakes found so far.
    """

    entities: Mapping[str, Entity]
    facts: Mapping[str, Mapping[str, Fact]]
    by_type: Mapping[str, Sequence[str]]
    by_word: Mapping[str, Sequence[str]]
    by_shape: Mapping[str, Sequence[str]]
    sharing: Mapping[tuple[str, str, str], Sequence[str]] = field(default_factory=dict)
    known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def namesakes(self, entity_id: str) -> tuple[str, ...]:
        """Others of the same name, then those that share an invented word, then those one letter away."""
        if entity_id in self.known:
            return self.known[entity_id]
        entity = self.entities[entity_id]
        shared = {other for word in entity.words for other in self.by_word[word]}
        near = {other for word in entity.words for shape in _shapes(word) for other in self.by_shape[shape]}

        def distance(other: str) -> tuple[bool, bool, str]:
            return self.entities[other].name != entity.name, other not in shared, other

        self.known[entity_id] = tuple(sorted((shared | near) - {entity_id}, key=distance))
        return self.known[entity_id]


def build_world(seed: int) -> World:
    """The world of a seed: the same however many questions are asked about it."""
    entities = _entities(seed)
    by_type: dict[str, list[str]] = defaultdict(list)
    by_word: dict[str, list[str]] = defaultdict(list)
    by_shape: dict[str, list[str]] = defaultdict(list)
    for entity in entities.values():
        by_type[entity.type].append(entity.id)
        for word in entity.words:
            by_word[word].append(entity.id)
            for shape in _shapes(word):
                by_shape[shape].append(entity.id)
    facts = _facts(seed, entities, by_type)
    sharing: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for entity_id, record in facts.items():
        for relation, fact in record.items():
            sharing[entities[entity_id].type, relation, fact.value].append(entity_id)
    return World(entities, facts, dict(by_type), dict(by_word), dict(by_shape), dict(sharing))


def _shapes(word: str) -> list[str]:
    return [f"{word[:at]}_{word[at + 1 :]}" for at in range(len(word))]


def _entities(seed: int) -> dict[str, Entity]:
    names = world_names(seed)
    uses = Counter(name for named in names.values() for name, _ in named)
    entities = {}
    for kind in schema().values():
        for index, (name, parts) in enumerate(names[kind.name]):
            rng = generator(seed, "synthetic", kind.name, index)
            noun = TRADES[int(rng.integers(len(TRADES)))] if kind.name == "person" else kind.noun
            title = name if uses[name] == 1 else f"{name} ({noun})"
            entity_id = f"{kind.name}-{index:04d}"
            year = int(rng.integers(*kind.years))
            entities[entity_id] = Entity(entity_id, kind.name, name, title, noun, parts, year)
    return entities


def _facts(
    seed: int, entities: Mapping[str, Entity], by_type: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, Fact]]:
    dated = {kind: sorted((entities[i].year, i) for i in ids) for kind, ids in by_type.items()}
    cities_of = _cities_by_region(by_type)
    facts: dict[str, dict[str, Fact]] = {}
    for entity in entities.values():
        rng = generator(seed, "synthetic", "facts", entity.id)
        record: dict[str, Fact] = {}
        for relation in schema()[entity.type].relations:
            if relation.name == "capital":
                choices: Sequence[str] = cities_of[entity.id]
            elif (entity.type, relation.name) == ("city", "located_in"):
                choices = [region for region, cities in cities_of.items() if entity.id in cities]
            elif relation.target in dated:
                choices = _in_window(dated[relation.target], entity, relation)
            else:
                record[relation.name] = _literal(entity, relation, rng)
                continue
            taken = {fact.target for fact in record.values()} | {entity.id}
            free = [choice for choice in choices if choice not in taken]
            if free:
                target = free[int(rng.integers(len(free)))]
                record[relation.name] = Fact(entities[target].name, target)
        facts[entity.id] = record
    return facts


def _cities_by_region(by_type: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Cities dealt out to the regions in turn, so that a region's capital lies in it."""
    regions = by_type["region"]
    dealt: dict[str, list[str]] = {region: [] for region in regions}
    for index, city in enumerate(by_type["city"]):
        dealt[regions[index % len(regions)]].append(city)
    return dealt


def _in_window(dated: Sequence[tuple[int, str]], entity: Entity, relation: Relation) -> list[str]:
    if relation.window is None:
        return [target for _, target in dated]
    low, high = entity.year + relation.window[0], entity.year + relation.window[1]
    start = bisect_left(dated, (low, ""))
    stop = bisect_right(dated, (high, "\U0010ffff"))
    return [target for _, target in dated[start:stop]]


def _literal(entity: Entity, relation: Relation, rng: np.random.Generator) -> Fact:
    if relation.target == "year":
        return Fact(str(entity.year), amount=entity.year)
    if relation.target == "date":
        day, month = int(rng.integers(1, 29)), MONTHS[int(rng.integers(12))]
        return Fact(f"{day} {month} {entity.year}")
    low, high = relation.bounds or (0, 0)
    amount = int(rng.integers(low, high))
    return Fact(f"{amount:,}", amount=amount)


def type_of(world: World, entity_id: str) -> EntityType:
    """The type record of an entity."""
    return schema()[world.entities[entity_id].type]

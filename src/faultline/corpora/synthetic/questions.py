"""Questions about the synthetic world: chains of 2 to 6 hops, and comparisons, with decompositions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultline.corpora.synthetic.passages import Written
from faultline.corpora.synthetic.schema import EntityType, Relation, answer_kind, schema
from faultline.corpora.synthetic.world import Entity, World, type_of
from faultline.errors import ConfigError
from faultline.records import Hop
from faultline.stats import generator

ATTEMPTS = 500
CONSIDER_SHARE = 0.3
YES_NO_SHARE = 1 / 3
SAME_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its annotation, before it has an id and a pool.

    Attributes:
        question: Its text.
        answers: Accepted answers, canonical first.
        hops: The decomposition.
        question_type: ``bridge`` (two hops), ``compositional3`` to ``compositional6``, ``comparison``.
        answer_hop: As in :class:`faultline.records.Gold`.
    """

    question: str
    answers: tuple[str, ...]
    hops: tuple[Hop, ...]
    question_type: str
    answer_hop: int | None


def mentions(text: str, value: str) -> bool:
    """Whether a value stands in a text as a whole word (cheap substring test first)."""
    return value in text and _whole_word(value).search(text) is not None


def _whole_word(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")


def ask(
    world: World, written: Mapping[str, Written], seed: int, kind: str, index: int, taken: set[str]
) -> Asked:
    """Question number ``index`` of a kind (``2hop`` to ``6hop``, ``comparison``); its text joins ``taken``.

    It depends on the seed, the kind and the questions of the kind before it, never on how many follow.

    Raises:
        ConfigError: No new question found in ``ATTEMPTS`` draws: the world is exhausted.
    """
    rng = generator(seed, "synthetic", "question", kind, index)
    for _ in range(ATTEMPTS):
        if kind == "comparison":
            asked = _comparison(world, written, rng)
        else:
            asked = _chain(world, written, int(kind[0]), rng)
        if asked is not None and asked.question not in taken:
            taken.add(asked.question)
            return asked
    raise ConfigError(f"synthetic: no new {kind} question at number {index}; lower questions.{kind}")


def _pick(options: tuple[str, ...], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]


def _chain(
    world: World, written: Mapping[str, Written], length: int, rng: np.random.Generator
) -> Asked | None:
    walk = _walk(world, length, rng)
    if walk is None:
        return None
    hops: list[Hop] = []
    inner = walk[0][0].label
    noun = walk[0][0].noun
    for number, (entity, relation) in enumerate(walk, start=1):
        label = entity.label if number == 1 else schema()[entity.type].label.format(n=f"#{number - 1}")
        hops.append(_hop(world, written, entity, relation, label, number))
        if number < length:
            inner = _pick(relation.phrases, rng).format(x=inner)
            noun = schema()[relation.target].noun
    question = _worded(inner, noun, walk[-1][1], rng)
    if _leaks(question, hops, written):
        return None
    kind = "bridge" if length == 2 else f"compositional{length}"
    return Asked(question, _accepted(hops[-1]), tuple(hops), kind, length)


def _walk(world: World, length: int, rng: np.random.Generator) -> list[tuple[Entity, Relation]] | None:
    """Distinct entities along relations, no relation twice running; None if the walk gets stuck."""
    ids = list(world.entities)
    at = ids[int(rng.integers(len(ids)))]
    walk: list[tuple[Entity, Relation]] = []
    for number in range(1, length + 1):
        facts = world.facts[at]
        options = [r for r in type_of(world, at).relations if r.name in facts]
        if number < length:
            visited = {entity.id for entity, _ in walk} | {at}
            options = [r for r in options if r.phrases and facts[r.name].target not in visited]
        if walk:
            options = [r for r in options if r != walk[-1][1]]
        if not options:
            return None
        relation = options[int(rng.integers(len(options)))]
        walk.append((world.entities[at], relation))
        at = facts[relation.name].target or at
    last = walk[-1]
    return None if world.facts[last[0].id][last[1].name].target in {e.id for e, _ in walk} else walk


def _hop(
    world: World, written: Mapping[str, Written], entity: Entity, relation: Relation, label: str, number: int
) -> Hop:
    return Hop(
        query=relation.questions[0].format(x=label),
        entity=entity.name if number == 1 else f"#{number - 1}",
        passage_id=entity.id,
        answer=world.facts[entity.id][relation.name].value,
        span=written[entity.id].spans[relation.name],
        kind=answer_kind(relation),
        depends_on=() if number == 1 else (number - 1,),
    )


def _worded(inner: str, noun: str, last: Relation, rng: np.random.Generator) -> str:
    if rng.random() < CONSIDER_SHARE:
        asked = _pick(last.questions, rng).format(x=f"that {noun}")
        return f"Consider {inner}. {asked}"
    return _pick(last.questions, rng).format(x=inner)


def _accepted(hop: Hop) -> tuple[str, ...]:
    """The answer as written, and a number also without its comma."""
    plain = hop.answer.replace(",", "")
    return (hop.answer, plain) if hop.kind == "number" and plain != hop.answer else (hop.answer,)


def _leaks(question: str, hops: Sequence[Hop], written: Mapping[str, Written]) -> bool:
    """Whether a hop could be skipped or read twice.

    That is: its answer stands in the question or in an earlier passage, or more than once in its own.
    """
    texts = [written[hop.passage_id or ""].passage.text for hop in hops]
    for number, hop in enumerate(hops):
        if mentions(question, hop.answer) or any(mentions(text, hop.answer) for text in texts[:number]):
            return True
        if len(_whole_word(hop.answer).findall(texts[number])) > 1:
            return True
    return False


def _comparison(world: World, written: Mapping[str, Written], rng: np.random.Generator) -> Asked | None:
    kinds = list(schema().values())
    kind = kinds[int(rng.integers(len(kinds)))]
    yes_no = rng.random() < YES_NO_SHARE
    same = yes_no and rng.random() < SAME_SHARE
    relations = [r for r in kind.relations if (r.same if same else r.which)]
    if not relations:
        return None
    relation = relations[int(rng.integers(len(relations)))]
    pair = _pair(world, kind, relation, same, rng)
    if pair is None:
        return None
    first, second = pair
    facts = [world.facts[entity.id][relation.name] for entity in pair]
    if same:
        question, answer = relation.same, "yes" if facts[0].value == facts[1].value else "no"
    else:
        amounts = [fact.amount or 0 for fact in facts]
        smaller = amounts[0] < amounts[1]
        larger_asked = int(rng.integers(2))
        question = relation.before if yes_no else relation.which[larger_asked]
        winner = first if smaller == (larger_asked == 0) else second
        answer = ("yes" if smaller else "no") if yes_no else winner.name
    hops = tuple(_independent(world, written, entity, relation) for entity in (first, second))
    text = question.format(a=first.label, b=second.label)
    distinct = facts[0].value != facts[1].value
    if distinct and (_leaks(text, hops, written) or _leaks(text, hops[::-1], written)):
        return None
    return Asked(text, (answer,), hops, "comparison", None)


def _independent(world: World, written: Mapping[str, Written], entity: Entity, relation: Relation) -> Hop:
    return _hop(world, written, entity, relation, entity.label, 1)


def _pair(
    world: World, kind: EntityType, relation: Relation, same: bool, rng: np.random.Generator
) -> tuple[Entity, Entity] | None:
    """Two entities of a type; for ``same`` half the pairs share the value, to balance yes and no."""
    ids = [other for other in world.by_type[kind.name] if relation.name in world.facts[other]]

    def group(entity_id: str) -> Sequence[str]:
        return world.sharing[kind.name, relation.name, world.facts[entity_id][relation.name].value]

    if same and rng.random() < 0.5:
        ids = [other for other in ids if len(group(other)) > 1]
        if not ids:
            return None
        first = ids[int(rng.integers(len(ids)))]
        ids = [other for other in group(first) if other != first]
    else:
        first = ids[int(rng.integers(len(ids)))]
        ids = [other for other in ids if other not in group(first)]
    if not ids:
        return None
    return world.entities[first], world.entities[ids[int(rng.integers(len(ids)))]]

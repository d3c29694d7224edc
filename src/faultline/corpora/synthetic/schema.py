"""Types and relations of the synthetic world, read from ``schema.json``.

Templates use ``{s}`` (subject) and ``{o}`` (object, exactly once) in sentences, ``{x}`` in questions and noun
phrases, ``{a}`` and ``{b}`` in comparisons, ``{n}`` (name) in labels, ``{d}`` (detail) in introductions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

LITERALS = ("year", "number", "date")


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation with one value per subject.

    Attributes:
        name: Unique within its type.
        target: A type, or one of ``LITERALS``.
        sentences: How passages state it.
        questions: How it is asked.
        phrases: Noun phrases for its value; empty for literals.
        window: Allowed (target's year - subject's year), inclusive; None for any.
        bounds: Range of a number, inclusive and exclusive.
        which: Questions for the smaller and for the larger of two values; empty if not comparable.
        before: Yes/no question whether the first value is smaller.
        same: Yes/no question whether two subjects share the value.
    """

    name: str
    target: str
    sentences: tuple[str, ...]
    questions: tuple[str, ...]
    phrases: tuple[str, ...] = ()
    window: tuple[int, int] | None = None
    bounds: tuple[int, int] | None = None
    which: tuple[str, ...] = ()
    before: str = ""
    same: str = ""


@dataclass(frozen=True, slots=True)
class EntityType:
    """A type of entity.

    Attributes:
        name: For example ``ship``.
        count: How many the world has.
        kind: Coarse kind of an answer that names one (see :mod:`faultline.corpora.answer_kinds`).
        label: How running text and questions refer to one by name.
        noun: What it is called (persons: replaced by an occupation).
        years: Range of the entity's own year (birth, foundation, launch), inclusive and exclusive.
        details: Fillers of the introductions.
        intros: Introductory sentences.
        relations: In the order of the schema.
    """

    name: str
    count: int
    kind: str
    label: str
    noun: str
    years: tuple[int, int]
    details: tuple[str, ...]
    intros: tuple[str, ...]
    relations: tuple[Relation, ...]

    def relation(self, name: str) -> Relation:
        """The relation of that name; KeyError if there is none."""
        for relation in self.relations:
            if relation.name == name:
                return relation
        raise KeyError(f"{self.name}.{name}")


def _tuples(record: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in record.items()}


@cache
def schema() -> dict[str, EntityType]:
    """All types by name, in the order of the schema."""
    raw = json.loads(files("faultline.corpora.synthetic").joinpath("schema.json").read_text("utf-8"))
    types = {}
    for name, record in raw.items():
        relations = tuple(Relation(**_tuples(relation)) for relation in record.pop("relations"))
        types[name] = EntityType(name=name, relations=relations, **_tuples(record))
    return types


def answer_kind(relation: Relation) -> str:
    """The coarse kind of a relation's value."""
    return relation.target if relation.target in LITERALS else schema()[relation.target].kind

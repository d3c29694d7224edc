"""Pairs derived from multi-hop annotations: every fact is claimed, swapped and left out, in several forms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultline.grounding import forms, premises
from faultline.grounding.multihop import Example, Fact
from faultline.grounding.pairs import Label, Pair
from faultline.grounding.values import contains, perturbed, replaced
from faultline.stats import generator

Donors = Mapping[str, tuple[str, ...]]
PERSON_RELATIONS = ("place of birth", "date of birth", "spouse", "father")
WORK_RELATIONS = ("director", "producer", "publication date", "composer")
_OF_PERSONS = {
    *PERSON_RELATIONS,
    "date of death",
    "place of death",
    "country of citizenship",
    "mother",
    "educated at",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim with the same claim about another value: what a passage entails, and what it contradicts."""

    form: str
    text: str
    swapped: str


def donors(examples: Sequence[Example]) -> Donors:
    """Distinct answers by kind, in a fixed order, to lend as wrong values."""
    found: dict[str, set[str]] = defaultdict(set)
    for example in examples:
        for fact in example.facts:
            found[fact.kind].add(fact.answer)
    return {kind: tuple(sorted(values)) for kind, values in found.items()}


def other_value(value: str, kind: str, text: str, pool: Donors, rng: np.random.Generator) -> str | None:
    """Another value of the same kind that the text does not hold: a donor's, or one with changed digits."""
    if rng.random() < 0.5:
        near = perturbed(value, kind, rng)
        if near is not None and not contains(text, near):
            return near
    offered = pool.get(kind, ())
    for index in rng.permutation(len(offered))[:20]:
        other = offered[int(index)]
        apart = other.lower() not in value.lower() and value.lower() not in other.lower()
        if apart and not contains(text, other):
            return other
    return perturbed(value, kind, rng)


def fact_pairs(example: Example, pool: Donors, seed: int, rounds: int) -> Iterator[Pair]:
    """Pairs about single hops.

    Every round of a fact draws one form and gives an entailment, two contradictions (the claim with another
    value; the passage with the value replaced everywhere) and a neutral one.
    """
    for number, fact in enumerate(example.facts):
        for turn in range(rounds):
            rng = generator(seed, example.id, number, turn, "fact")
            other = other_value(fact.answer, fact.kind, fact.passage.rendered, pool, rng)
            if other is None:
                continue
            claim = draw_claim(example, fact, number, other, rng)
            true = true_premise(example, fact, rng)
            false = replaced(true_premise(example, fact, rng), fact.answer, other)
            made: list[tuple[str, str, Label]] = [
                (true, claim.text, "entailment"),
                (true, claim.swapped, "contradiction"),
            ]
            # Where the value was not in this premise (a window), nothing was replaced.
            if not contains(false, fact.answer):
                made.append((false, claim.text, "contradiction"))
                made += [(false, claim.swapped, "entailment")] if rng.random() < 0.35 else []
            missing = neutral_premise(example, fact, rng)
            if missing is not None:
                made.append((missing, claim.text if rng.random() < 0.6 else claim.swapped, "neutral"))
            yield from (Pair(p, h, label, example.dataset, claim.form, example.id) for p, h, label in made)


def hard_neutrals(example: Example, pool: Donors, seed: int) -> Iterator[Pair]:
    """The passage's own entity with a relation that no annotation and no word of the passage mentions."""
    for number, fact in enumerate(example.facts):
        rng = generator(seed, example.id, number, "hard")
        held = {f.relation for f in example.facts if f.subject == fact.subject}
        words = fact.passage.rendered.lower()
        usual = PERSON_RELATIONS if fact.relation in _OF_PERSONS else WORK_RELATIONS
        free = [r for r in usual if r not in held and not any(w in words for w in _cues(r))]
        if not fact.subject or not free:
            continue
        name = free[int(rng.integers(len(free)))]
        kind = {"place of birth": "place", "date of birth": "date", "publication date": "date"}
        offered = pool.get(kind.get(name, "person"), ())
        if offered:
            text = forms.relation(fact.subject, name, offered[int(rng.integers(len(offered)))], rng)
            premise = true_premise(example, fact, rng)
            yield Pair(premise, text, "neutral", example.dataset, "other_relation", example.id)


def draw_claim(example: Example, fact: Fact, number: int, other: str, rng: np.random.Generator) -> Claim:
    """One surface form of a fact, with its value and with another one."""
    options = ["qa", "qa"] + (["relation"] * 3 if fact.relation else ["declared"])
    options += ["sentence", "stage2", "stage4", "stage4", "stage5"] if fact.sentence is not None else []
    options += ["stage1"] if premises.words(fact.passage.rendered) <= 130 else []
    options += ["stage3"] if number + 1 < len(example.facts) else []
    form = options[int(rng.integers(len(options)))]
    state = rng.bit_generator.state
    text = claim_text(form, example, fact, number, fact.answer, rng)
    rng.bit_generator.state = state
    if form in {"qa", "relation", "declared", "stage3"}:
        return Claim(form, text, claim_text(form, example, fact, number, other, rng))
    return Claim(form, text, replaced(text, fact.answer, other))


def claim_text(
    form: str, example: Example, fact: Fact, number: int, value: str, rng: np.random.Generator
) -> str:
    """The claim in one form, with a value in the place of the answer."""
    passage = fact.passage
    sentence = passage.sentences[fact.sentence] if fact.sentence is not None else passage.text
    said = forms.resolved(sentence, passage.title)
    if rng.random() < 0.25 and contains(forms.trimmed(said), fact.answer):
        said = forms.trimmed(said)
    if form == "relation":
        return forms.relation(fact.subject, fact.relation, value, rng)
    if form == "declared":
        return forms.declared(fact.query, value) or forms.qa(fact.query, value, rng)
    if form == "stage1":
        return passage.rendered if rng.random() < 0.8 else passage.text
    if form == "stage2":
        return forms.stage2(passage.title, sentence.strip(), value, rng)
    if form == "stage3":
        return forms.stage3(passage.title, value, example.question, rng)
    if form == "stage4":
        return forms.stage4(passage.title, said if rng.random() < 0.5 else sentence.strip(), rng)
    if form == "stage5":
        bridge = example.facts[number - 1].answer if number else passage.title
        return forms.stage5(bridge, value, said, rng)
    return said if form == "sentence" else forms.qa(fact.query, value, rng)


def true_premise(example: Example, fact: Fact, rng: np.random.Generator) -> str:
    """A premise that holds the fact: the passage, a window of it, or the passage among others."""
    passage = fact.passage
    if premises.words(passage.text) > 150:
        passage = premises.window(passage, fact.sentence, 60 + int(rng.integers(90)), rng)
    draw = rng.random()
    if draw < 0.45 or fact.sentence is None:
        return passage.rendered
    if draw < 0.6:
        return premises.window(fact.passage, fact.sentence, 40 + int(rng.integers(60)), rng).rendered
    total = 3 if draw < 0.9 else 2
    clean = [p for p in example.others if not contains(p.rendered, fact.answer)]
    return premises.among_others([passage], clean, total, rng)


def neutral_premise(example: Example, fact: Fact, rng: np.random.Generator) -> str | None:
    """A premise that leaves the fact open.

    The passage without its sentence, another passage of the question (hop or distractor), or three others.
    """
    draw = rng.random()
    if draw < 0.35 and fact.sentence is not None and len(fact.passage.sentences) > 1:
        rest = premises.without_sentence(fact.passage, fact.sentence)
        if not contains(rest.rendered, fact.answer):
            return premises.window(rest, None, 150, rng).rendered
    others = [p for p in (*example.support, *example.others) if p.title != fact.passage.title]
    others = [p for p in others if not contains(p.rendered, fact.answer) or draw > 0.9]
    if not others:
        return None
    if draw < 0.6:
        return premises.among_others([], others, 3, rng)
    hops = [p for p in others if p in example.support]
    chosen = hops if hops and draw > 0.8 else others
    return premises.window(chosen[int(rng.integers(len(chosen)))], None, 150, rng).rendered


def _cues(relation: str) -> tuple[str, ...]:
    return {
        "place of birth": ("born", "native", "birth"),
        "date of birth": ("born", "birth"),
        "spouse": ("wife", "husband", "married", "spouse", "marri"),
        "father": ("father", "son of", "daughter", "child"),
        "director": ("direct",),
        "producer": ("produc",),
        "publication date": ("releas", "publish", "premier", "19", "20"),
        "composer": ("compos", "music", "score"),
    }[relation]

"""Pairs over whole questions and whole passages: claims that need several passages, and swapped passages."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from faultline.grounding import forms, premises
from faultline.grounding.derive import Donors, other_value
from faultline.grounding.multihop import Example
from faultline.grounding.pairs import Label, Pair
from faultline.grounding.values import Value, answer_kind, contains, find_values, perturbed, replaced
from faultline.records import Passage
from faultline.stats import generator


def chain_pairs(example: Example, pool: Donors, seed: int) -> Iterator[Pair]:
    """The question's answer against all its passages, and against fewer.

    With every supporting passage the answer is entailed and another one contradicted; without the passage
    that holds the answer both are open.
    """
    rng = generator(seed, example.id, "chain")
    if (
        sum(premises.words(p.rendered) for p in example.support) > premises.MAX_WORDS
        or len(example.support) < 2
    ):
        return
    other = _wrong_answer(example, pool, rng)
    if other is None:
        return
    claims = [
        ("chain_qa", *(forms.qa(example.question, a, _same(rng, seed)) for a in (example.answer, other)))
    ]
    claims += _syntheses(example, other, rng)
    others = [p for p in example.others if not contains(p.rendered, example.answer)]
    for form, true, false in claims:
        whole = premises.among_others(
            example.support, others, len(example.support) + int(rng.random() < 0.5), rng
        )
        yield Pair(whole, true, "entailment", example.dataset, form, example.id)
        yield Pair(whole, false, "contradiction", example.dataset, form, example.id)
        lacking = [p for p in example.support if not contains(p.rendered, example.answer)]
        if lacking and len(lacking) < len(example.support):
            part = premises.among_others(lacking, others, len(lacking) + 1, rng)
            yield Pair(part, true, "neutral", example.dataset, form, example.id)


def passage_pairs(example: Example, seed: int, share: float) -> Iterator[Pair]:
    """Swapped values in any passage, as a fault leaves it: passage against passage, sentence against passage.

    Args:
        example: Its distractors are used as well as its support.
        seed: Of the choices.
        share: Part of the passages that are used, in [0, 1].
    """
    passages = (*example.support, *example.others)
    for passage in passages:
        rng = generator(seed, passage.content_hash, "passage")
        whole = premises.words(passage.text)
        if rng.random() >= share or not whole >= 8 or not passage.title:
            continue
        passage = premises.window(passage, None, 60 + int(rng.integers(70)), rng)
        rest = [p for p in passages if p.title != passage.title]
        value = _swappable(passage, rng)
        other = _other(value, rest, passage, rng) if value is not None else None
        if value is None or other is None or not rest:
            continue
        made = list(_passage_versions(passage, value, other, rest, rng))
        yield from (Pair(p, h, label, example.dataset, form, example.id) for p, h, label, form in made)


def _passage_versions(
    passage: Passage, value: Value, other: str, rest: list[Passage], rng: np.random.Generator
) -> Iterator[tuple[str, str, Label, str]]:
    original, swapped = passage.rendered, replaced(passage.rendered, value.text, other)
    long = rng.random() < 0.4
    base = premises.among_others([passage], rest, 3, rng) if long else original
    if rng.random() < 0.5:
        if long:
            yield base, original, "entailment", "passage"
        yield base, swapped, "contradiction", "passage_swap"
        yield swapped, original, "contradiction", "passage_swap"
        absent = premises.among_others([], rest, 3, rng)
        yield absent, (original if rng.random() < 0.5 else swapped), "neutral", "passage"
        if len(passage.sentences) > 2:
            part = premises.without_sentence(passage, int(rng.integers(1, len(passage.sentences))))
            yield part.rendered, original, "neutral", "passage_part"
            yield original, part.rendered, "entailment", "passage_part"
        return
    index = next((i for i, s in enumerate(passage.sentences) if contains(s, value.text)), 0)
    sentence = passage.sentences[index].strip()
    said = forms.resolved(sentence, passage.title) if index else sentence
    said = forms.trimmed(said) if contains(forms.trimmed(said), value.text) and rng.random() < 0.4 else said
    said = forms.stage4(passage.title, said, rng) if rng.random() < 0.3 else said
    yield base, said, "entailment", "passage_sentence"
    yield base, replaced(said, value.text, other), "contradiction", "sentence_swap"
    yield replaced(base, value.text, other), said, "contradiction", "sentence_swap"
    lacking = premises.without_sentence(passage, index)
    if rng.random() < 0.5 and lacking.sentences and not contains(lacking.rendered, value.text):
        yield lacking.rendered, said, "neutral", "sentence_missing"
    else:
        yield (
            premises.among_others([], rest, 1 + int(rng.integers(3)), rng),
            said,
            "neutral",
            "passage_sentence",
        )


def _swappable(passage: Passage, rng: np.random.Generator) -> Value | None:
    """A value of the text that is no part of the title: swapping the subject would change the topic."""
    title = passage.title.lower()
    found = [v for v in find_values(passage.text) if not set(v.text.lower().split()) & set(title.split())]
    found = [v for v in found if contains(passage.text, v.text)]
    return found[int(rng.integers(len(found)))] if found else None


def _other(value: Value, rest: list[Passage], passage: Passage, rng: np.random.Generator) -> str | None:
    near = perturbed(value.text, value.kind, rng)
    if value.kind != "name":
        return near if near is not None and not contains(passage.text, near) else None
    size = len(value.text.split())
    for index in rng.permutation(len(rest))[:6]:
        offered = [v.text for v in find_values(rest[int(index)].text) if v.kind == "name"]
        offered = [v for v in offered if (len(v.split()) > 1) == (size > 1)]
        offered = [v for v in offered if v.lower() not in passage.rendered.lower()]
        if offered:
            return offered[int(rng.integers(len(offered)))]
    return None


def _wrong_answer(example: Example, pool: Donors, rng: np.random.Generator) -> str | None:
    plain = example.answer.strip().lower()
    if plain in {"yes", "no"}:
        return "no" if plain == "yes" else "yes"
    titles = [p.title for p in example.support if p.title.lower() != plain and p.title.lower() not in plain]
    named = any(p.title.lower() == plain for p in example.support)
    if named and titles:  # a comparison: the wrong answer is the other one
        return titles[int(rng.integers(len(titles)))]
    text = " ".join(p.rendered for p in example.support)
    relation = example.facts[-1].relation if example.facts else ""
    return other_value(
        example.answer, answer_kind(example.answer, example.question, relation), text, pool, rng
    )


def _syntheses(example: Example, other: str, rng: np.random.Generator) -> list[tuple[str, str, str]]:
    """The chain as a synthesis stage writes it, if the last passage says the answer in a sentence."""
    last = next((p for p in reversed(example.support) if contains(p.text, example.answer)), None)
    if last is None or answer_kind(example.answer) == "yes_no":
        return []
    sentence = next((s for s in last.sentences if contains(s, example.answer)), None)
    if sentence is None:
        return []
    bridge = example.facts[0].answer if len(example.facts) > 1 else last.title
    said = forms.resolved(sentence, last.title)
    text = forms.stage5(bridge, example.answer, said, rng)
    return [("chain_stage5", text, replaced(text, example.answer, other))]


def _same(rng: np.random.Generator, seed: int) -> np.random.Generator:
    """A generator in the same state for both claims of a pair of claims."""
    return generator(seed, int(rng.bit_generator.state["state"]["state"]))

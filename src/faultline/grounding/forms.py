"""Surface forms: how one fact reads as a claim, from a bare question with its answer to a stage output."""

from __future__ import annotations

import re

import numpy as np

QA_FORMS = (
    'The answer to "{q}" is {a}.',
    "The answer to '{q}' is {a}.",
    "{q} {a}.",
    "{q} The answer is {a}.",
    'Asked "{q}", one should answer: {a}.',
    "Question: {q} Answer: {a}",
)
RELATION_FORMS: dict[str, tuple[str, ...]] = {
    "director": ("{s} was directed by {o}.", "{o} directed {s}.", "The director of {s} is {o}."),
    "country of citizenship": ("{s} is a citizen of {o}.", "{s}'s nationality is {o}."),
    "date of birth": ("{s} was born on {o}.", "{s}'s date of birth is {o}."),
    "date of death": ("{s} died on {o}.", "The date of {s}'s death is {o}."),
    "place of birth": ("{s} was born in {o}.", "{s}'s birthplace is {o}."),
    "place of death": ("{s} died in {o}.", "{o} is where {s} died."),
    "country": ("{s} is in {o}.", "{s} is located in {o}.", "The country of {s} is {o}."),
    "country of origin": ("{s} comes from {o}.", "{s}'s country of origin is {o}."),
    "father": ("{s}'s father is {o}.", "{o} is the father of {s}."),
    "mother": ("{s}'s mother is {o}.", "{o} is the mother of {s}."),
    "spouse": ("{s} is married to {o}.", "{o} is the spouse of {s}.", "{s} was married to {o}."),
    "child": ("{o} is a child of {s}.", "{s} is a parent of {o}."),
    "sibling": ("{o} is a sibling of {s}.", "{s} and {o} are siblings."),
    "publication date": ("{s} was released in {o}.", "{s} came out in {o}."),
    "performer": ("{s} was performed by {o}.", "{o} is the performer of {s}.", "{s} is by {o}."),
    "composer": ("{s} was composed by {o}.", "The music of {s} is by {o}."),
    "author": ("{s} was written by {o}.", "{o} is the author of {s}."),
    "founded by": ("{s} was founded by {o}.", "{o} founded {s}."),
    "producer": ("{s} was produced by {o}.", "{o} is the producer of {s}."),
    "educated at": ("{s} was educated at {o}.", "{s} studied at {o}."),
    "employer": ("{s} worked for {o}.", "{o} employed {s}."),
    "cause of death": ("{s} died of {o}.", "The cause of {s}'s death was {o}."),
    "award received": ("{s} received {o}.", "{s} won the {o}."),
    "part of": ("{s} is part of {o}.",),
    "member of sports team": ("{s} plays for {o}.", "{s} is a member of {o}."),
    "located in the administrative territorial entity": ("{s} is located in {o}.", "{s} lies in {o}."),
    "location": ("{s} is located in {o}.",),
    "shares border with": ("{s} borders {o}.",),
    "inception": ("{s} was founded in {o}.",),
    "publisher": ("{s} was published by {o}.",),
}
GENERIC_RELATION = ("The {r} of {s} is {o}.", "{s}'s {r} is {o}.", "{s} has {o} as its {r}.")
STAGE2 = (
    'According to "{t}", {x} So the next thing to look up is {v}.',
    'According to "{t}", {x} The next step is to look up {v}.',
    "{x} This means that {v} has to be looked up next.",
    "From the passage on {t}: {x} Next, search for {v}.",
)
STAGE3 = (
    "The passage on {v} is needed to answer the question: {q}",
    "To answer the question, the passage on {v} is needed, since {t} points to it.",
    "Having found {v}, we need its passage to answer: {q}",
)
STAGE4 = (
    "The passage on {t} says: {x}",
    "The search result on {t} states: {x}",
    'In the passage "{t}" we read: {x}',
    "{t} was retrieved. It says that {x}",
)
STAGE5 = (
    "{v} leads to {a}; {x} Therefore, the answer is {a}.",
    "First we found {v}, then {a}; {x} So the answer is {a}.",
    "{x} Therefore, the answer is {a}.",
    "Since {x} the final answer is {a}.",
)


def qa(query: str, answer: str, rng: np.random.Generator) -> str:
    """A question with its answer, in one of several forms."""
    question = query.strip()
    question = question if question.endswith("?") else question + "?"
    return _pick(QA_FORMS, rng).format(q=question[0].upper() + question[1:], a=answer)


def relation(subject: str, name: str, value: str, rng: np.random.Generator) -> str:
    """A relation as a sentence: from its own templates, one time in four from a generic one."""
    own = RELATION_FORMS.get(name)
    forms = own if own and rng.random() < 0.75 else GENERIC_RELATION
    return _pick(forms, rng).format(s=subject, o=value, r=name)


def declared(query: str, answer: str) -> str | None:
    """The statement that a simple question and its answer make, None where the wording is not simple.

    ``Who directed X?`` becomes ``A directed X.``; inverted questions (did, does, is it) are left alone.
    """
    match = re.match(
        r"(?:who|what|which \w+)\s+(?!did|does|do|are|were|was the|is the)(\w+ .+?)\??$", query.strip(), re.I
    )
    if match:
        return f"{answer} {match.group(1)}."
    match = re.match(r"(?:who|what)\s+(is|was)\s+(the .+?)\??$", query.strip(), re.I)
    return f"{match.group(2)[0].upper()}{match.group(2)[1:]} {match.group(1)} {answer}." if match else None


def stage2(title: str, sentence: str, value: str, rng: np.random.Generator) -> str:
    """What a first reasoning stage writes: a finding, and what to look up next."""
    return _pick(STAGE2, rng).format(t=title, x=ended(sentence), v=value)


def stage3(title: str, value: str, question: str, rng: np.random.Generator) -> str:
    """What a second reasoning stage writes: which passage is needed."""
    return _pick(STAGE3, rng).format(t=title, v=value, q=question)


def stage4(title: str, sentence: str, rng: np.random.Generator) -> str:
    """What a tool stage writes: the finding."""
    return _pick(STAGE4, rng).format(t=title, x=ended(sentence))


def stage5(bridge: str, answer: str, sentence: str, rng: np.random.Generator) -> str:
    """What a synthesis writes: the chain and the answer."""
    return _pick(STAGE5, rng).format(v=bridge, a=answer, x=ended(sentence))


def resolved(sentence: str, title: str) -> str:
    """A sentence with a leading pronoun replaced by its passage's title, qualifier in parentheses dropped."""
    name = re.sub(r"\s*\([^)]*\)$", "", title)
    sentence = sentence.strip()
    if not name:
        return sentence
    sentence = re.sub(
        r"^(?:He|She|It|They|The (?:film|song|album|book|series|band))\b(?!')", lambda _: name, sentence
    )
    return re.sub(r"^(?:His|Her|Its|Their)\b", lambda _: name + "'s", sentence)


def trimmed(sentence: str) -> str:
    """A sentence without its parentheses: it says less, so whatever says the whole says it too."""
    return re.sub(r"\s+([,.;])", r"\1", re.sub(r"\s*\([^()]*\)", "", sentence)).strip()


def ended(sentence: str) -> str:
    """A sentence with an end mark."""
    sentence = sentence.strip()
    return sentence if sentence.endswith((".", "!", "?", '"')) else sentence + "."


def _pick(forms: tuple[str, ...], rng: np.random.Generator) -> str:
    return forms[int(rng.integers(len(forms)))]

"""A request taken apart for comparison: what it asks, about what, how many, and whether it denies.

English only; the word lists are in ``words.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import snowballstemmer
import yaml

FILE = Path(__file__).with_name("words.yaml")
_RAW: Mapping[str, Any] = yaml.safe_load(FILE.read_text())
NEGATIONS, FUNCTION, LEADING = (
    frozenset(_RAW[name].split()) for name in ("negations", "function", "leading")
)
CONTRACTIONS: Mapping[str, str] = _RAW["contractions"]
SAME_ASK: Mapping[str, str] = _RAW["asks"]
ROLES: Mapping[str, str] = _RAW["prepositions"]
ASKS = (
    *("who", "whom", "whose", "when", "where", "why", "how many", "how much", "how long", "how old"),
    *("how far", "how often", "how"),
)
_SMALL = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS = {word: str(value) for value, word in enumerate(_SMALL.split()) if word != "one"}
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*%?|[^\W\d_]+(?:['’-][^\W\d_]+)*")
_stemmer = snowballstemmer.stemmer("english")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a lower-case word, or the first word of the paraphrase group that it belongs to."""
    grouped = _GROUP.get(word)
    if grouped is not None:
        return grouped
    cut = str(_stemmer.stemWord(word))
    return _GROUP.get(cut, cut)


def _groups() -> dict[str, str]:
    table: dict[str, str] = {}
    for group in _RAW["groups"]:
        words = group.split()
        for word in words:
            table.setdefault(word, words[0])
            table.setdefault(str(_stemmer.stemWord(word)), words[0])
    return table


_GROUP = _groups()
HEADS = frozenset(_GROUP.values()) - frozenset(_RAW["things"].split())
"""What the paraphrase groups stand for: properties and doings, which move in a sentence; subjects do not."""
SYMMETRIC = frozenset(stem(word) for word in _RAW["symmetric"].split())
"""Words of requests in which two subjects may change places."""
OPPOSED = frozenset(frozenset(stem(word) for word in pair.split()) for pair in _RAW["opposites"])


@dataclass(frozen=True, slots=True)
class Parsed:
    """A request taken apart.

    Attributes:
        content: Stems of the words that carry meaning, in their order.
        names: Lower-case words that are capitalised inside a sentence, or hold a capital further on.
        numbers: Sorted.
        negations: How many.
        ask: The question word, ``""`` where there is none (a yes/no question, a task).
        words: Stem to the word as it stood, lower-case.
        roles: Stem to the preposition before it, ``""`` without one.
        passive: Whether somebody is named with "by": who did it stands last.
        future: Whether it asks about what will be.
    """

    content: tuple[str, ...]
    names: frozenset[str]
    numbers: tuple[str, ...]
    negations: int
    ask: str
    words: Mapping[str, str]
    roles: Mapping[str, str]
    passive: bool
    future: bool


@lru_cache(maxsize=16_384)
def parse(text: str) -> Parsed:
    """Take a request apart; text without a word gives an empty one."""
    plain = text.replace("’", "'")
    found = [(m.group(), m.start()) for m in _TOKEN.finditer(plain)]
    tokens: list[str] = []
    names: set[str] = set()
    for word, start in found:
        low = word.lower()
        inside = start > 0 and not re.search(r"(?:[.!?:]\s*|^\W*)$", plain[:start])
        if (word[0].isupper() and inside and low != "i") or any(c.isupper() for c in word[1:]):
            names.add(low.removesuffix("'s"))
        tokens += _expanded(low)
    start = next((i for i, token in enumerate(tokens) if token not in FUNCTION), 0)
    if tokens and tokens[start] in LEADING:
        del tokens[start]
    negations = sum(t in NEGATIONS for t in tokens)
    numbers = tuple(sorted(NUMBER_WORDS.get(t, t) for t in tokens if t[0].isdigit() or t in NUMBER_WORDS))
    content: list[str] = []
    words: dict[str, str] = {}
    roles: dict[str, str] = {}
    role = ""
    for token in tokens:
        role = ROLES.get(token, role)
        if (
            (token in FUNCTION and token not in names)
            or token in NEGATIONS
            or token[0].isdigit()
            or token in NUMBER_WORDS
        ):
            continue
        made = stem(token)
        content.append(made)
        words.setdefault(made, token)
        roles.setdefault(made, role)
        role = ""
    ask, phrase = _ask(tokens)
    content = [made for made in content if words[made] not in phrase.split()]
    voice = _passive(tokens)
    return Parsed(
        tuple(content), frozenset(names), numbers, negations, ask, words, roles, voice, "will" in tokens
    )


def _passive(tokens: list[str]) -> bool:
    by = [i for i, token in enumerate(tokens) if token == "by" and i]
    # "By how many", "by 2019" measure; "acquired by" names who did it.
    return any(
        re.search(r"(ed|en|wn|ght|ten|ad|id|un|ld)$", tokens[i - 1]) for i in by
    ) or "by whom" in " ".join(tokens)


def _expanded(low: str) -> list[str]:
    whole = CONTRACTIONS.get(low)
    if whole is not None:
        return whole.split()
    if low.endswith("n't"):
        return [low[:-3], "not"]
    return [part for part in re.split(r"['-]", low.removesuffix("'s")) if part]


def _ask(tokens: list[str]) -> tuple[str, str]:
    """The kind of the first question word, with its measure (``how many``), and the phrase that asks."""
    text = " ".join(tokens)
    best = (len(text) + 1, "")
    for phrase in (*SAME_ASK, *ASKS):
        at = re.search(rf"\b{phrase}\b", text)
        # Of phrases at one place the longest says most: how many, not how.
        if at and (at.start(), -len(phrase)) < (best[0], -len(best[1])):
            best = (at.start(), phrase)
    return SAME_ASK.get(best[1], best[1]), best[1]

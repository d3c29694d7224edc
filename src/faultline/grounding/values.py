"""Values in a text (dates, numbers, names): found, replaced, perturbed. Simple rules, all of them here."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b(?:\d{{1,2}} (?:{_MONTHS}) \d{{3,4}}|(?:{_MONTHS}) \d{{1,2}}, ?\d{{3,4}}|(?:{_MONTHS}) \d{{4}}"
    r"|1[0-9]{3}|20[0-2][0-9])\b"
)
_NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w])|(?<![\w.,/-])\d+(?:\.\d+)?(?![\w/-])")
_WORD = r"(?:[A-Z]\.|[A-Z][\w'’-]*)"
_NAME = re.compile(rf"{_WORD}(?:(?: (?:of|de|the|van|von|la|del|di|der))? {_WORD})*")
_NATIONALITY = re.compile(r"(?:[a-z](?:ian|ean|ican|ese|ish)|French|Greek|Dutch|German|Swiss|Thai|Welsh)$")
_PLACE_RELATIONS = (
    "place",
    "country",
    "located",
    "location",
    "continent",
    "capital",
    "city",
    "state",
    "border",
)
_PERSON_RELATIONS = [
    "director",
    "performer",
    "composer",
    "author",
    "father",
    "mother",
    "spouse",
    "child",
    "sibling",
    "founded",
    "producer",
    "cast",
    "member",
    "screenwriter",
    "president",
]
_NUMBER_WORDS = frozenset(
    [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "twenty",
        "thirty",
        "hundred",
        "thousand",
        "million",
    ]
)
_SKIP_NAMES = frozenset(
    [
        "The",
        "A",
        "An",
        "In",
        "On",
        "At",
        "It",
        "He",
        "She",
        "They",
        "His",
        "Her",
        "Its",
        "Their",
        "This",
        "That",
        "These",
        "Those",
        "As",
        "After",
        "Before",
        "During",
        "For",
        "From",
        "When",
        "While",
        "With",
        "By",
        "And",
        "But",
        "Or",
        "If",
        "To",
        "Of",
        "Since",
        "Although",
        "There",
        "Most",
        "Many",
        "Some",
        "Both",
        "One",
        "Two",
    ]
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a text: ``text[start:end]``, with its kind (date, number or name)."""

    start: int
    end: int
    text: str
    kind: str


def answer_kind(answer: str, query: str = "", relation: str = "") -> str:
    """Coarse kind of an answer: yes_no, date, number, nationality, person, place, work or other.

    The answer's shape decides first (a bare figure of up to four digits reads as a year), then its relation,
    then the question word.
    """
    plain = answer.strip().lower().rstrip(".")
    if plain in {"yes", "no"}:
        return "yes_no"
    if _DATE.search(answer) or re.fullmatch(r"\d{1,4}(?:s| bc| ad)?", plain):
        return "date"
    if re.search(r"\d", plain) or (plain.split() and set(plain.split()) & _NUMBER_WORDS):
        return "number"
    hint = f" {relation or query} ".lower()
    if "countr" in hint and _NATIONALITY.search(answer):
        return "nationality"
    if any(word in hint for word in _PERSON_RELATIONS) or re.search(r"\b(who|whom|whose)\b", hint):
        return "person"
    if any(word in hint for word in _PLACE_RELATIONS) or re.search(r"\bwhere\b", hint):
        return "place"
    if re.search(r"\b(film|song|album|book|novel|series|magazine|band)\b", hint):
        return "work"
    return "other"


def find_values(text: str) -> list[Value]:
    """Dates, numbers and capitalised names, in order, without overlap.

    A single capitalised word that opens a sentence is no name: most are ordinary words.
    """
    taken = np.zeros(len(text) + 1, dtype=bool)
    found: list[Value] = []
    for kind, pattern in (("date", _DATE), ("number", _NUMBER), ("name", _NAME)):
        for match in pattern.finditer(text):
            start, end = match.span()
            if taken[start:end].any() or (kind == "name" and not _is_name(text, start, match.group())):
                continue
            taken[start:end] = True
            found.append(Value(start, end, match.group(), kind))
    return sorted(found, key=lambda value: value.start)


def contains(text: str, value: str) -> bool:
    """Whether a value stands in a text as whole words, letter case aside."""
    return bool(value.strip()) and _pattern(value).search(text) is not None


def replaced(text: str, value: str, other: str) -> str:
    """The text with every whole-word occurrence of a value replaced, letter case aside."""
    return _pattern(value).sub(lambda _: other, text)


def perturbed(value: str, kind: str, rng: np.random.Generator) -> str | None:
    """A near value of the same shape: another year, day or figure; None for what has no digits."""
    numbers = list(re.finditer(r"\d+", value))
    if kind not in {"date", "number"} or not numbers:
        return None
    pick = (
        max(numbers, key=lambda m: len(m.group())) if kind == "date" else numbers[rng.integers(len(numbers))]
    )
    old = int(pick.group())
    step = int(rng.integers(1, 30 if old > 40 else 9))
    new = old - step if rng.random() < 0.5 and old > step else old + step
    return value[: pick.start()] + str(new).zfill(len(pick.group())) + value[pick.end() :]


def _is_name(text: str, start: int, found: str) -> bool:
    words = found.split()
    if words[0] in _SKIP_NAMES or len(found) < 3:
        return False
    before = text[:start].rstrip()
    opens = not before or before[-1] in '.!?:;"“'
    return len(words) > 1 or not opens


def _pattern(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(value.strip())}(?!\w)", re.IGNORECASE)

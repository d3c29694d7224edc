"""Invented names: a seeded syllable generator with one style per type, and namesakes on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from faultline.corpora.synthetic.schema import schema
from faultline.stats import generator

ONSETS = tuple("br d dr f gw h kv l m n pr r skr t thr v vl y z zh".split())  # noqa: SIM905
VOWELS = ("a", "ae", "e", "i", "io", "o", "oe", "u", "ua")
MIDDLES = ("lm", "nd", "rv", "sk", "th", "x", "lv", "rz", "mbr", "q", "ndr", "sth")
ENDINGS = {
    "given": ("ane", "ilo", "eth", "uvi", "onna", "iqua", "erro", "yst"),
    "surname": ("ellak", "ornith", "ickov", "athune", "ondry", "usk", "ivaxe", "orrim"),
    "city": ("umar", "ovolt", "iswyn", "entra", "aquor", "ithgar"),
    "region": ("essune", "orvia", "umark", "ilande", "athra"),
    "stem": ("equar", "ovast", "immel", "undrix", "evane", "ostyl", "arvo"),
}
# This share of words differs from an earlier one by a single vowel.
NEAR_SHARE = 0.3
TRADES = (
    *("cartographer", "botanist", "painter", "surveyor", "composer", "physician"),
    *("novelist", "shipwright", "lawyer", "geologist", "printer", "navigator"),
)
THINGS = {
    "festival": ("Lantern Festival", "Harvest Festival", "Regatta", "Midwinter Fair", "Kite Festival"),
    "institute": ("Institute", "Academy", "Observatory", "Conservatory", "Polytechnic"),
    "prize": ("Prize", "Medal", "Award", "Laurel"),
    "lighthouse": ("Light", "Lighthouse", "Beacon"),
    "newspaper": ("Courier", "Gazette", "Herald", "Mercury", "Observer"),
    "company": ("Works", "Foundry", "Trading House", "Brothers"),
    "instrument": ("ophone", "ette", "ina", "ichord"),
    "ship": ("Tern", "Heron", "Comet", "Petrel", "Venture"),
    "novel": ("The Clockmaker of {}", "A Winter in {}", "The Last Ferry to {}", "Letters from {}", "{}"),
    "painting": ("Harbour at {}", "Evening near {}", "The Weavers of {}", "Market Day in {}", "{}"),
}
# Types that borrow the whole name of another type: title of the lender, share of the borrowers.
LENDERS = {
    "ship": ("person", 0.4),
    "painting": ("person", 0.25),
    "novel": ("city", 0.2),
    "instrument": ("region", 0.2),
}


def words(style: str, seed: int) -> Iterator[str]:
    """Endless distinct invented words of a style, a share of them near-copies of an earlier one."""
    rng = generator(seed, "synthetic", "words", style)
    made: list[str] = []
    seen: set[str] = set()
    while True:
        near = made and rng.random() < NEAR_SHARE
        word = _altered(made[int(rng.integers(len(made)))], rng) if near else _fresh(style, rng)
        if word not in seen:
            seen.add(word)
            made.append(word)
            yield word


def _pick(options: Sequence[str], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]


def _fresh(style: str, rng: np.random.Generator) -> str:
    parts = (_pick(ONSETS, rng), _pick(VOWELS, rng), _pick(MIDDLES, rng), _pick(ENDINGS[style], rng))
    return "".join(parts).capitalize()


def _altered(word: str, rng: np.random.Generator) -> str:
    places = [i for i, letter in enumerate(word) if letter in "aeiou"]
    at = places[int(rng.integers(len(places)))]
    return word[:at] + _pick("aeiou", rng) + word[at + 1 :]


Named = tuple[str, tuple[str, ...]]
"""A name and the invented words in it (what makes two entities namesakes)."""


def world_names(seed: int) -> dict[str, list[Named]]:
    """Names by type; unique within a type, on purpose not across types."""
    counts = {name: kind.count for name, kind in schema().items()}
    stems = _shared("stem", seed)
    surnames = _shared("surname", seed)
    names: dict[str, list[Named]] = {
        "person": _unique(counts["person"], _persons(_shared("given", seed), surnames)),
    }
    for name in ("city", "region"):
        names[name] = [(word, (word,)) for word in islice(words(name, seed), counts[name])]
    for name in (key for key in counts if key not in names):
        names[name] = _unique(counts[name], _things(name, stems, names, seed))
    return {name: names[name] for name in counts}


def _unique(count: int, make: Callable[[], Named]) -> list[Named]:
    found: dict[str, Named] = {}
    while len(found) < count:
        named = make()
        found.setdefault(named[0], named)
    return list(found.values())


def _shared(style: str, seed: int) -> Callable[[], str]:
    """Draws from a growing list: half the draws reuse a word, which makes namesakes."""
    rng = generator(seed, "synthetic", "shared", style)
    source = words(style, seed)
    made = [next(source)]

    def draw() -> str:
        if rng.random() < 0.5:
            return made[int(rng.integers(len(made)))]
        made.append(next(source))
        return made[-1]

    return draw


def _persons(given: Callable[[], str], surname: Callable[[], str]) -> Callable[[], Named]:
    def make() -> Named:
        pair = (given(), surname())
        return " ".join(pair), pair

    return make


def _things(
    name: str, stem: Callable[[], str], names: dict[str, list[Named]], seed: int
) -> Callable[[], Named]:
    rng = generator(seed, "synthetic", "things", name)
    lender, share = LENDERS.get(name, ("", 0.0))

    def make() -> Named:
        if rng.random() < share:
            return names[lender][int(rng.integers(len(names[lender])))]
        word, thing = stem(), _pick(THINGS[name], rng)
        if "{}" in thing:
            return thing.format(word), (word,)
        return (f"{word.rstrip('aeo')}{thing}" if name == "instrument" else f"{word} {thing}"), (word,)

    return make

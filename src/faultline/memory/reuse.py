"""Whether what was said to one request answers another: a check beside the cosine, which opposites pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson

from faultline.errors import DataError
from faultline.memory.requests import HEADS, OPPOSED, SYMMETRIC, Parsed, parse

FloatArray = npt.NDArray[np.float64]
Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]
FILE = Path(__file__).with_name("reuse.json")
FEATURES = (
    "unmatched_fewer",  # words of content in one request alone: of the request with fewer of them
    "unmatched_more",  # and of the other
    "unmatched_distance",  # 1 - the mean over those words of their best cosine with the other's words
    "opposites",  # such a word is the opposite of a word of the other request
    "numbers",  # the numbers differ
    "negation",  # one denies, the other does not
    "names",  # capitalised words that stand in one alone
    "ask",  # they ask for different things: who, when, how many; a bare how and no word are one
    "ask_how",  # only one has a bare how
    "future",  # only one asks about what will be
    "names_exchanged",  # names changed places, or the voice changed and they did not
    "places_exchanged",  # runs of words changed places around a word, or took over a preposition
    "words_exchanged",  # shared words changed places, properties and doings left aside
)
"""Each is at least 0 and speaks against reuse. The cosine is none of them: opposites have the highest."""
PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "mis", "anti", "de")


@dataclass(frozen=True, slots=True)
class ReuseCheck:
    """A logistic regression over :data:`FEATURES`, fitted on the train probes.

    Attributes:
        weights: One a feature, at most 0.
        intercept: Log-odds where every feature is 0.
        threshold: Probability of "the same request" from which reuse is allowed.
        tau: Cosine below which the pair is not considered at all.
    """

    weights: tuple[float, ...]
    intercept: float
    threshold: float
    tau: float

    def probability(self, features: FloatArray) -> FloatArray:
        """P(the same request); features of shape (n, len(FEATURES))."""
        return np.asarray(1.0 / (1.0 + np.exp(-(features @ np.array(self.weights) + self.intercept))))

    def allows(self, first: str, second: str, cosine: float, embed: Embed) -> bool:
        """Whether what was said to ``first`` may be served for ``second``."""
        if first == second:
            return True
        if cosine < self.tau:
            return False
        row = features(parse(first), parse(second), embed)
        return bool(self.probability(row[None])[0] >= self.threshold)


@lru_cache(maxsize=1)
def default_check() -> ReuseCheck:
    """The check that the package ships (``python -m experiments.fit_reuse`` made it).

    Raises:
        DataError: The file is not what this version reads.
    """
    try:
        raw = orjson.loads(FILE.read_bytes())
        if tuple(raw["features"]) != FEATURES:
            raise DataError(f"{FILE}: fitted for other features; run python -m experiments.fit_reuse")
        return ReuseCheck(tuple(raw["weights"]), raw["intercept"], raw["threshold"], raw["tau"])
    except (OSError, KeyError, orjson.JSONDecodeError) as error:
        raise DataError(f"{FILE}: cannot be read ({error}); run python -m experiments.fit_reuse") from error


def features(first: Parsed, second: Parsed, embed: Embed) -> FloatArray:
    """What tells two requests apart; shape (len(FEATURES),), symmetric in the two.

    Args:
        first: One request.
        second: The other.
        embed: Embeds single words, shape (n, d), unit rows; asked only for words that stand in one alone.
    """
    a, b = set(first.content), set(second.content)
    only_a = [w for w in dict.fromkeys(first.content) if w not in b]
    only_b = [w for w in dict.fromkeys(second.content) if w not in a]
    fewer, more = sorted((len(only_a), len(only_b)))
    shared = [w for w in dict.fromkeys(first.content) if w in b]
    named = [w for w in shared if first.words[w] in first.names]
    opposed = [(first.words[x], second.words[y], x, y) for x in only_a for y in b]
    opposed += [(first.words[x], second.words[y], x, y) for x in a for y in only_b]
    return np.array(
        [
            fewer,
            more,
            _distance(first, second, only_a, only_b, embed),
            float(any(_opposed(*each) for each in opposed)),
            float(first.numbers != second.numbers),
            float(first.negations % 2 != second.negations % 2),
            len(first.names ^ second.names),
            float(_asked(first) != _asked(second)),
            float(_asked(first) == _asked(second) and first.ask != second.ask),
            float(first.future != second.future),
            float(_exchanged(named, first, second)),
            float(_took_places(first, second)),
            float(_exchanged([w for w in shared if w not in HEADS], first, second)),
        ],
        dtype=np.float64,
    )


def _asked(request: Parsed) -> str:
    return "" if request.ask == "how" else request.ask


def _distance(
    first: Parsed, second: Parsed, only_a: Sequence[str], only_b: Sequence[str], embed: Embed
) -> float:
    if not only_a and not only_b:
        return 0.0
    words_a, words_b = [first.words[w] for w in only_a], [second.words[w] for w in only_b]
    all_a, all_b = list(first.words.values()), list(second.words.values())
    if not all_a or not all_b:
        return 1.0
    vectors = dict(
        zip(dict.fromkeys((*all_a, *all_b)), embed(list(dict.fromkeys((*all_a, *all_b)))), strict=True)
    )
    left, right = np.stack([vectors[w] for w in all_a]), np.stack([vectors[w] for w in all_b])
    nearest = [float((right @ vectors[w]).max()) for w in words_a]
    nearest += [float((left @ vectors[w]).max()) for w in words_b]
    return 1.0 - float(np.mean(nearest))


def _opposed(one: str, two: str, stem_one: str, stem_two: str) -> bool:
    if frozenset((stem_one, stem_two)) in OPPOSED:
        return True
    one, two = sorted((one, two), key=len)
    return any(two == prefix + one for prefix in PREFIXES) or (
        one.endswith("ful") and two.endswith("less") and one[:-3] == two[:-4]
    )


def _exchanged(words: Sequence[str], first: Parsed, second: Parsed) -> bool:
    """Whether words changed places while the voice stayed, or kept them while it changed.

    "A bought B" and "B bought A" share every word; in "B was bought by A" the order turns with the voice.
    """
    if len(words) < 2 or SYMMETRIC & set(first.content) & set(second.content):
        return False
    place = {w: i for i, w in enumerate(dict.fromkeys(second.content))}
    turned = any(place[x] > place[y] for x, y in pairwise(words))
    return turned != (first.passive != second.passive)


def _took_places(first: Parsed, second: Parsed) -> bool:
    """Whether two runs of words changed places around what stands between them, or took over a preposition.

    "How does A affect B" and "How does B affect A" do, and "from A to B" and "from B to A"; "the report
    of the board" and "the board's report" do not.
    """
    a, b = list(dict.fromkeys(first.content)), list(dict.fromkeys(second.content))
    if set(a) != set(b) or first.passive != second.passive or SYMMETRIC & set(a):
        return False
    while a and a[0] == b[0]:
        a, b = a[1:], b[1:]
    while a and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    for x in range(1, len(a)):
        for y in range(x, len(a)):
            left, between, right = a[:x], a[x:y], a[y:]
            if right + between + left == b:
                took = first.roles[right[0]] and first.roles[right[0]] == second.roles[left[0]]
                return bool(between or took)
    return False

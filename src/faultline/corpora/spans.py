"""Finding names and answers in passages: whole words, letter case aside."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from functools import lru_cache

from faultline.records import Passage

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_PARENTHESIS = re.compile(r"\s*\([^()]*\)\s*$")


@lru_cache(maxsize=65_536)
def normalise(text: str) -> str:
    """SQuAD's answer normalisation: lower case, no ASCII punctuation, no articles, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def bare_title(title: str) -> str:
    """A page title without its disambiguation: ``Romeo and Juliet (1968 film)`` is ``Romeo and Juliet``."""
    return _PARENTHESIS.sub("", title).strip() or title


@lru_cache(maxsize=65_536)
def word_pattern(needle: str) -> re.Pattern[str]:
    """Matches the needle as whole words, letter case aside (no word character on either side)."""
    return re.compile(rf"(?<!\w){re.escape(needle)}(?!\w)", re.IGNORECASE)


def occurrences(text: str, needle: str) -> list[tuple[int, int]]:
    """Every whole-word place of the needle in the text, (start, end); empty for an empty needle."""
    if not needle.strip():
        return []
    return [match.span() for match in word_pattern(needle).finditer(text)]


def mentions(text: str, needle: str) -> bool:
    """Whether the text names the needle, as it stands or after :func:`normalise`."""
    if occurrences(text, needle):
        return True
    plain = normalise(needle)
    return bool(plain) and f" {plain} " in f" {normalise(text)} "


def find_span(passage: Passage, needle: str, sentences: Iterable[int] = ()) -> tuple[int, int] | None:
    """The first place of the needle in ``passage.text``, one in the preferred sentences before any other.

    Args:
        passage: The passage.
        needle: What to look for.
        sentences: Indices of preferred sentences (0-based; out of range ones are ignored).
    """
    found = occurrences(passage.text, needle)
    if not found:
        return None
    preferred = set(sentences)
    position = 0
    for index, sentence in enumerate(passage.sentences):
        end = position + len(sentence)
        if index in preferred:
            inside = [span for span in found if position <= span[0] and span[1] <= end]
            if inside:
                return inside[0]
        position = end
    return found[0]


def sentence_at(passage: Passage, position: int) -> str:
    """The sentence of ``passage.text`` that holds a character position, stripped."""
    start = 0
    for sentence in passage.sentences:
        if position < start + len(sentence):
            return sentence.strip()
        start += len(sentence)
    return passage.sentences[-1].strip() if passage.sentences else ""

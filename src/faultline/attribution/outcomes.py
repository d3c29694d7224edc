"""What became of an injected content fault: resisted, absorbed or derailed, from the texts (paper 2, 5)."""

from __future__ import annotations

import re
import string

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
SHARE = 0.8
"""Share of tokens that must be in the answer."""


def tokens(text: str) -> list[str]:
    """Lower-case words without punctuation and articles (the SQuAD normalisation)."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def covered(needle: str, text: str) -> float:
    """Share of the needle's distinct tokens that are in the text; 0 for an empty needle."""
    wanted = set(tokens(needle))
    return len(wanted & set(tokens(text))) / len(wanted) if wanted else 0.0


def is_correct(answer: str, gold: str) -> bool:
    """Normalised equality, or at least .8 of the gold tokens in the answer (recall only, as published)."""
    return tokens(answer) == tokens(gold) or covered(gold, answer) >= SHARE


def label(answer: str, gold: str, changed: str) -> str:
    """``resisted`` if correct, else ``absorbed`` if the answer has the changed span, else ``derailed``.

    Correctness takes precedence where an answer has both (paper 2, section 5).
    """
    if is_correct(answer, gold):
        return "resisted"
    return "absorbed" if covered(changed, answer) >= SHARE else "derailed"

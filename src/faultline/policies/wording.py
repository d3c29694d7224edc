"""The reader's sentences: stage outputs are the hypotheses of every check, so they stand in one place."""

from __future__ import annotations

from collections.abc import Sequence


def reading(title: str, sentence: str, value: str, hedge: str, *, final: bool) -> str:
    """What was read, with the sentence it stands in."""
    source = f'According to "{title}", ' if title else "According to the passage, "
    word = f"{hedge} " if hedge else ""
    return f"{source}{_ended(sentence)} {_step(f'{word}{value}', final=final)}"


def following(assertion: str, value: str, *, final: bool) -> str:
    """An assertion of the context, followed."""
    return f"{_ended(assertion)} {_step(value, final=final)}"


def denied(assertion: str) -> str:
    """An assertion of the context that nothing is to be found, followed."""
    return f"{_ended(assertion)} So nothing can be looked up here."


def next_step(notes: Sequence[str | None], question: str) -> str:
    """The plan for the next retrieval."""
    known = next((note for note in reversed(notes) if note is not None), None)
    if known is None:
        return f"It is still open what to look up. The question remains: {question}"
    return f"The first passage leads to {known}. What the passage on {known} says will answer: {question}"


def conclusion(notes: Sequence[str | None], thoughts: Sequence[str], answer: str) -> str:
    """The final answer with the chain behind it."""
    chain = [note for note in notes[:-1] if note is not None]
    lead = f"The first passage leads to {', then '.join(chain)}." if chain else ""
    finding = _without_last_sentence(thoughts[-1]).strip() if thoughts else ""
    return " ".join(part for part in (lead, finding, f"Therefore, the answer is {answer}.") if part)


def not_found(entity: str | None) -> str:
    """Nothing readable."""
    return f"The passages found say nothing about {entity}." if entity else "The passages found do not say."


def no_answer() -> str:
    """No conclusion."""
    return "The passages found do not answer the question."


def nothing_more() -> str:
    """The plan has no further hop."""
    return "Nothing more needs to be looked up."


def _step(value: str, *, final: bool) -> str:
    return f"So the answer is {value}." if final else f"So the next thing to look up is {value}."


def _ended(sentence: str) -> str:
    stripped = sentence.strip()
    return stripped if stripped.endswith((".", "!", "?", '"')) else f"{stripped}."


def _without_last_sentence(text: str) -> str:
    marker = text.rfind(" So the answer is ")
    return text[:marker] if marker >= 0 else text


def stated_confidence(text: str) -> float:
    """The confidence that the reader's words state: .5 ``possibly``, .7 ``probably``, .9 without a hedge."""
    words = text.lower()
    if " possibly " in words:
        return 0.5
    return 0.7 if " probably " in words else 0.9

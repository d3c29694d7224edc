"""Pools of the synthetic world: the supporting passages among namesakes and same-relation distractors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from faultline.corpora.synthetic.passages import Written
from faultline.corpora.synthetic.questions import Asked, mentions
from faultline.corpora.synthetic.world import World
from faultline.errors import ConfigError

DRAWS = 400


def question_pool(
    world: World, written: Mapping[str, Written], asked: Asked, size: int, rng: np.random.Generator
) -> tuple[str, ...]:
    """Ids of ``size`` passages in seeded order: all supporting ones, then distractors.

    Up to half of the distractors are namesakes of the entities on the chain (same name, a word of it, or
    one letter away); the rest are of the same type as an entity on the chain, so they state the same
    relations. No distractor contains a hop's answer as a whole word (nor, in a comparison, a compared
    entity's name), save that an exact namesake of an entity on the chain bears its name; the final answer is
    in none.

    Raises:
        ConfigError: The pool is too small for the supporting passages.
    """
    support = [hop.passage_id for hop in asked.hops if hop.passage_id]
    if size < len(support):
        raise ConfigError(
            f"synthetic: pool_size {size} is below the {len(support)} supporting passages; raise pool_size"
        )
    strict, final = _forbidden(asked)
    chosen = dict.fromkeys(support)
    half = (size - len(support) + 1) // 2
    for other in _namesakes(world, support):
        if len(chosen) >= len(support) + half:
            break
        name = world.entities[other].name
        if _clean(written[other], [value for value in strict if value != name or value in final]):
            chosen[other] = None
    for draw in range(DRAWS):
        if len(chosen) == size:
            break
        ids = world.by_type[world.entities[support[draw % len(support)]].type]
        other = ids[int(rng.integers(len(ids)))]
        if other not in chosen and _clean(written[other], strict):
            chosen[other] = None
    if len(chosen) < size:
        raise ConfigError(f"synthetic: pool_size {size} is more than this world can fill; lower pool_size")
    ordered = list(chosen)
    return tuple(ordered[i] for i in rng.permutation(size))


def _forbidden(asked: Asked) -> tuple[list[str], list[str]]:
    """All values that distractors must not contain, and those of them that not even an exact namesake may.

    The two entities of a comparison are treated alike, whichever is the answer.
    """
    answers = [hop.answer for hop in asked.hops]
    if asked.question_type == "comparison":
        both = answers + [hop.entity for hop in asked.hops]
        return both, both
    return answers, answers[-1:]


def _namesakes(world: World, support: Sequence[str]) -> list[str]:
    """Namesakes of the chain's entities, taken in turn: the first of each, then the second of each."""
    lists = [[other for other in world.namesakes(entity) if other not in support] for entity in support]
    longest = max(map(len, lists))
    return [others[i] for i in range(longest) for others in lists if i < len(others)]


def _clean(written: Written, values: Sequence[str]) -> bool:
    text = written.passage.rendered
    return not any(mentions(text, value) for value in values)

"""Values to swap in: annotated answers of the same kind, from other examples of the data set."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from faultline.corpora.spans import mentions, normalise
from faultline.records import LoadedCorpus


@dataclass(frozen=True, slots=True)
class Donor:
    """A value and the example that lends it."""

    value: str
    task_id: str


class Donors:
    """The values of a data set by kind.

    Args:
        corpus: Every hop answer that stands in its passage is a possible donor.
    """

    def __init__(self, corpus: LoadedCorpus) -> None:
        found: dict[str, dict[str, Donor]] = defaultdict(dict)
        for task in corpus.tasks:
            for hop in corpus.gold[task.id].hops:
                if hop.span is not None:
                    found[hop.kind].setdefault(normalise(hop.answer), Donor(hop.answer, task.id))
        self._by_kind = {kind: [values[key] for key in sorted(values)] for kind, values in found.items()}

    def pick(self, kind: str, like: str, unlike: str, task_id: str, rng: np.random.Generator) -> Donor | None:
        """A donor for a value, as close in word count as there is; None if there is none.

        Args:
            kind: Kind of the value.
            like: The value that is replaced.
            unlike: A text that must not name the donor (the question, its passages and its answers).
            task_id: The example, which lends nothing to itself.
            rng: Chooses among the closest.
        """
        candidates = [d for d in self._by_kind.get(kind, []) if d.task_id != task_id]
        words = len(like.split())
        shuffled = [candidates[int(place)] for place in rng.permutation(len(candidates))]
        ranked = sorted(shuffled, key=lambda donor: abs(len(donor.value.split()) - words))
        return next((donor for donor in ranked if not mentions(unlike, donor.value)), None)

"""The total order over scored passages."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from faultline.records import Passage
from faultline.retrieval.ranking import ranked

pools = st.lists(
    st.tuples(st.text("abc", min_size=1, max_size=3), st.sampled_from([-1.0, 0.0, 0.5, 2.0])), max_size=8
)


@given(pools.map(lambda items: list(dict(items).items())), st.integers(1, 10), st.randoms())
def test_best_first_and_ties_by_id_whatever_the_order(items, k, random):
    best = [name for name, _ in sorted(sorted(items), key=lambda item: item[1], reverse=True)][:k]
    random.shuffle(items)
    hits = ranked([Passage(name, "", ()) for name, _ in items], [score for _, score in items], k)
    assert [hit.passage.id for hit in hits] == best
    assert [hit.rank for hit in hits] == list(range(1, len(best) + 1))
    assert [hit.score for hit in hits] == [dict(items)[name] for name in best]


def test_scores_are_plain_floats():
    (hit,) = ranked([Passage("a", "", ())], np.array([0.1], dtype=np.float32), 3)
    assert type(hit.score) is float

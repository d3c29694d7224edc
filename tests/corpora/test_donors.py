"""Donors: same kind, another example, not named in the text, the nearest in word count."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultline.corpora.digest import corpus_digest
from faultline.corpora.donors import Donor, Donors
from faultline.corpora.spans import mentions
from faultline.records import Gold, Hop, LoadedCorpus, Task
from faultline.stats import generator


def corpus_of(values):
    """One task a (value, kind, whether it stands in its passage)."""
    tasks, gold = [], {}
    for number, (value, kind, stands) in enumerate(values):
        name = f"t{number}"
        tasks.append(Task(name, "?", name))
        hop = Hop("q", "", "p", value, (0, 1) if stands else None, kind)
        gold[name] = Gold(name, (value,), (hop,), (), "bridge")
    return LoadedCorpus("c", 1, tuple(tasks), gold, {}, {}, corpus_digest(tasks, gold, {}, {}))


CORPUS = corpus_of(
    [
        ("Ada Quill", "person", True),
        ("Ivo Marsh", "person", True),
        ("Lena van Orrick", "person", True),
        ("ada quill", "person", True),
        ("Per Holm", "person", False),
        ("1902", "year", True),
    ]
)


def picks(kind, like, unlike, task_id, n=60, donors=None):
    donors = donors or Donors(CORPUS)
    return Counter(donors.pick(kind, like, unlike, task_id, generator("donor", i)) for i in range(n))


def test_same_kind_and_the_nearest_word_count():
    assert set(picks("person", "Bo Quill", "", "t9")) == {Donor("Ada Quill", "t0"), Donor("Ivo Marsh", "t1")}
    assert set(picks("person", "Jan van Ruyk", "", "t9")) == {Donor("Lena van Orrick", "t2")}


def test_the_choice_among_the_nearest_is_about_even():
    counts = picks("person", "Bo Quill", "", "t9", 400)
    assert min(counts.values()) > 150


def test_a_value_that_stands_in_no_passage_lends_nothing():
    assert Donor("Per Holm", "t4") not in picks("person", "Bo Quill", "Ada Quill, Ivo Marsh", "t9")


def test_an_example_lends_nothing_to_itself():
    assert set(picks("person", "Bo Quill", "", "t1")) == {Donor("Ada Quill", "t0")}


def test_what_the_text_names_is_not_lent():
    assert set(picks("person", "Bo Quill", "ADA QUILL came", "t9")) == {Donor("Ivo Marsh", "t1")}
    assert set(picks("person", "Bo Quill", "Ada Quill's; Ivo Marsh.", "t9")) == {
        Donor("Lena van Orrick", "t2")
    }


def test_none_where_nothing_fits():
    assert picks("place", "Rome", "", "t9") == {None: 60}
    assert picks("year", "1877", "In 1902", "t9") == {None: 60}
    assert picks("year", "1877", "", "t5") == {None: 60}


def test_the_same_generator_gives_the_same_donor():
    donors = Donors(CORPUS)
    for i in range(20):
        one, two = (donors.pick("person", "Bo Quill", "", "t9", generator(i)) for _ in range(2))
        assert one == two


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_on_the_synthetic_world(synthetic, data):
    task = data.draw(st.sampled_from(synthetic.tasks))
    hop = data.draw(st.sampled_from(synthetic.gold[task.id].hops))
    unlike = " ".join(synthetic.passages[i].rendered for i in synthetic.pools[task.corpus_ref])
    donor = Donors(synthetic).pick(
        hop.kind, hop.answer, unlike, task.id, generator(data.draw(st.integers(0, 99)))
    )
    if donor is None:
        return
    assert donor.task_id != task.id and not mentions(unlike, donor.value)
    kinds = {h.kind for h in synthetic.gold[donor.task_id].hops if h.answer == donor.value}
    assert hop.kind in kinds


@pytest.mark.parametrize("order", [0, 1])
def test_the_order_of_tasks_does_not_matter_for_the_values(order):
    values = [("Ada Quill", "person", True), ("Ivo Marsh", "person", True)]
    donors = Donors(corpus_of(values[::-1] if order else values))
    found = donors.pick("person", "Bo Quill", "", "t9", generator(1))
    assert found.value == Donors(corpus_of(values)).pick("person", "Bo Quill", "", "t9", generator(1)).value

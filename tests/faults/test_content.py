from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from faultline.faults.content import choose_span, perturbed
from faultline.records import Gold, Hit, Passage, Stage


def hop(index: int, text: str, query: str, answer: str | None) -> Stage:
    return Stage(index, "retrieval", "", query, (Hit(Passage(f"p{index}", "", (text,)), 1.0, 1),), answer)


GOLD = Gold("t", ("Manning",), (), (), "x")


def test_the_answer_comes_first_then_a_bridge_then_what_stands_out() -> None:
    question = "What is the capital of the county of Ada?"
    first = hop(1, "Ada lies in Dunn. Dunn is flat. Bo was here.", "Ada county", "Dunn")
    second = hop(2, "Manning is the capital of Dunn.", "Dunn capital", "Manning")
    answer = choose_span(question, GOLD, (first, second), 2, "paper")
    bridge = choose_span(question, GOLD, (first, second), 1, "paper")
    assert answer is not None and (answer.text, answer.strategy) == ("Manning", "answer_fact")
    assert bridge is not None and (bridge.text, bridge.strategy) == ("Dunn", "bridge_entity")
    last = hop(1, "Ada and Bo met Bo.", "Ada", None)
    salient = choose_span(question, GOLD, (last,), 1, "paper")
    assert (salient is not None and (salient.text, salient.strategy) == ("Ada and Bo", "salient_entity")) or (
        salient is not None and salient.text == "Bo"
    )
    assert choose_span("?", GOLD, (hop(1, "", "", None),), 1, "paper") is None


@given(st.integers(0, 3000), st.integers(0, 2**32 - 1))
def test_a_perturbed_number_differs_and_keeps_its_words(number: int, seed: int) -> None:
    changed = perturbed(f"about {number} men", "", np.random.default_rng(seed))
    assert changed is not None and changed != f"about {number} men"
    assert changed.startswith("about ") and changed.endswith(" men") and int(changed.split()[1]) >= 0


def test_a_value_that_the_text_names_is_not_used() -> None:
    unlike = " ".join(map(str, range(100)))
    assert perturbed("5", unlike, np.random.default_rng(0)) is None
    assert perturbed("Ada", "", np.random.default_rng(0)) is None

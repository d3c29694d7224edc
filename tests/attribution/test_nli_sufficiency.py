import numpy as np

from faultline.attribution.diagnosis import Case
from faultline.attribution.nli_sufficiency import NliSufficiency, pairs_of, score
from faultline.records import Hit, Passage, Stage


def hop(index, query, texts, answer):
    hits = tuple(Hit(Passage(f"p{i}", "", (text,)), 1.0, i) for i, text in enumerate(texts, start=1))
    return Stage(index, "retrieval", answer or "", query=query, hits=hits, answer=answer)


class Overlap:
    """Entailed if the claim's last word stands in the document."""

    def __init__(self):
        self.asked = []

    def verify(self, pairs):
        self.asked.append(list(pairs))
        hit = [float(claim.rstrip(".").split()[-1] in text) for text, claim in pairs]
        return np.array([[h, 1 - h, 0.0] for h in hit])


def case(*hops):
    return Case("c", "q", tuple(hops), "x", 1.0, None, lambda probe: None)


def test_the_first_hop_that_its_documents_do_not_entail():
    good = hop(1, "where is A", ["A is in Rome", "nothing"], "Rome")
    bad = hop(2, "who rules Rome", ["Rome is old"], "Nero")
    trace = case(good, bad)
    assert NliSufficiency(score(Overlap(), [trace])).diagnose(trace).hop == 2
    fine = case(good)
    said = NliSufficiency(score(Overlap(), [fine])).diagnose(fine)
    assert (said.hop, said.reason) == (0, "sufficient")


def test_a_hop_that_read_nothing_is_insufficient_and_asks_nothing():
    blank = hop(1, "where is A", ["A is in Rome"], None)
    assert pairs_of(blank) == []
    assert NliSufficiency(score(Overlap(), [case(blank)])).diagnose(case(blank)).hop == 1


def test_equal_pairs_are_scored_once_in_one_batch():
    verifier = Overlap()
    trace = case(hop(1, "where is A", ["A is in Rome"], "Rome"))
    score(verifier, [trace, trace])
    assert verifier.asked == [[("A is in Rome", "where is A Rome.")]]

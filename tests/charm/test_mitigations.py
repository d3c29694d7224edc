"""Re-execution: kept stages are replayed, a call fault heals on re-retrieval, a corpus fault does not."""

import numpy as np
import pytest

from faultline.agents.five_stage import FiveStage
from faultline.charm.mitigations.reexecution import Flagged, crr, last_clean, prr
from faultline.faults.retrieval import RetrievalFault
from faultline.records import Prepared
from tests.faults.sites import sites

NAN = float("nan")


def cases(corpus, scope):
    injector = RetrievalFault(scope=scope).build(corpus, lambda: None)
    for site in sites(corpus):
        made = injector.inject(site)
        if isinstance(made, Prepared):
            stages = FiveStage().run(site.task, made.environment, site.policy)
            working = site.clean if scope == "call" else made.environment
            clean = FiveStage().run(site.task, site.clean, site.policy)
            yield Flagged(site.task, stages, site.agent, site.policy, working), clean


@pytest.mark.parametrize("keep", range(5))
def test_kept_stages_are_replayed_to_the_letter(synthetic, keep):
    for case, _ in cases(synthetic, "corpus"):
        made = prr(case, keep)
        assert made.stages[:keep] == case.stages[:keep]
        assert made.redone == 5 - keep
        # The environment and the reader are the same: only the hint is new, and it asserts no value.
        assert [s.answer for s in made.stages] == [s.answer for s in case.stages]


def test_a_call_fault_heals_on_reretrieval_and_a_corpus_fault_does_not(synthetic):
    healed = [crr(case).stages[-1].answer == clean[-1].answer for case, clean in cases(synthetic, "call")]
    assert healed and np.mean(healed) > 0.9
    kept = [(crr(c).stages[1].answer, c.stages[1].answer) for c, _ in cases(synthetic, "corpus")]
    assert np.mean([new == old for new, old in kept]) > 0.9


@pytest.mark.parametrize(
    ("drift", "flagged", "expected"),
    [
        ([NAN, 0.0, 0.3, 0.0], 4, 2),
        ([NAN, 0.2, 0.0], 3, 1),
        ([NAN, 0.0, 0.0], 3, 2),
        ([NAN, 0.5], 1, 0),
        ([0.0, 0.5], 2, 1),
    ],
)
def test_last_clean_stage(drift, flagged, expected):
    assert last_clean(np.array(drift), flagged) == expected

"""Hedge removal: exact edits, confidence read from the words, nothing else touched."""

import pytest

from faultline.agents.five_stage import FiveStage
from faultline.errors import ConfigError, Missing
from faultline.faults.inflation import Definite, InflationFault, definite
from faultline.policies.wording import stated_confidence
from faultline.records import Action, Prepared, State
from tests.faults.sites import sites

ALWAYS = {"hedge_margins": (1.0, 2.0)}
NEVER = {"hedge_margins": (-1.0, -1.0)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("So the answer is possibly Kelmouth.", "So the answer is Kelmouth."),
        ("It may be Kelmouth, perhaps not.", "It is Kelmouth, not."),
        ("It is likely that Ann left.", "Ann left."),
        ("The possibility is unlikely.", "The possibility is unlikely."),
        ("", ""),
    ],
)
def test_hedges_go_and_other_words_stay(before, after):
    text, edits = definite(before)
    assert text == after
    for edit in reversed(edits):
        assert before[edit.start : edit.end] == edit.before
        before = before[: edit.start] + edit.after + before[edit.end :]
    assert before == after


def test_one_stage_becomes_definite_and_its_confidence_is_read_from_its_words(synthetic):
    injector = InflationFault().build(synthetic, lambda: None)
    changed = 0
    for site in sites(synthetic, **ALWAYS):
        made = injector.inject(site)
        assert isinstance(made, Prepared)
        clean = FiveStage().run(site.task, site.clean, site.policy)
        inflated = FiveStage().run(site.task, made.environment, made.policy)
        at = made.certificate.stage - 1
        assert inflated[:at] == clean[:at]
        assert definite(clean[at].text)[0] == inflated[at].text
        assert clean[at].confidence < inflated[at].confidence == stated_confidence(inflated[at].text)
        assert [s.answer for s in inflated] == [s.answer for s in clean]
        changed += 1
    assert changed == len(synthetic.tasks)


def test_a_run_without_hedges_is_skipped(synthetic):
    injector = InflationFault().build(synthetic, lambda: None)
    assert {injector.inject(site) for site in sites(synthetic, **NEVER)} == {Missing.NO_CHANGE}


def test_token_log_probabilities_are_not_edited(synthetic):
    class Backbone:
        backbone = "probabilities"

        def act(self, kind, state):
            return Action(kind, "It is possibly so.", "so", 0.3, (-1.0, -1.5))

    action = Definite(Backbone(), 1).act("read", State(synthetic.tasks[0]))
    assert (action.text, action.confidence, action.token_logprobs) == ("It is so.", 0.3, (-1.0, -1.5))


@pytest.mark.parametrize("bad", [{"scope": "corpus"}, {"generator": "gpt"}], ids=str)
def test_impossible_settings_are_refused(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        InflationFault(**bad)

"""The inference cue: clean evidence, one stage's context, followed as trust says."""

import pytest

from faultline.agents.five_stage import FiveStage
from faultline.corpora.spans import mentions
from faultline.errors import ConfigError, Missing
from faultline.faults.inference import InferenceCue, InferenceFault, TemplateCue
from faultline.records import Prepared
from tests.faults.sites import site_of, sites

NOTHING = None


def built(corpus, **options):
    return InferenceFault(**options).build(corpus, lambda: NOTHING)


def placed(corpus, policy_options=None, **options):
    injector = built(corpus, **options)
    pairs = [(site, injector.inject(site)) for site in sites(corpus, **(policy_options or {}))]
    return [(site, made) for site, made in pairs if isinstance(made, Prepared)]


def test_the_evidence_is_clean_and_only_stage_two_sees_the_cue(synthetic):
    for site, made in placed(synthetic):
        assert made.environment.search(site.first_query, 5, 1) == site.clean.search(site.first_query, 5, 1)
        assert [len(made.environment.hints(stage)) for stage in range(1, 6)] == [0, 1, 0, 0, 0]
        cue = made.environment.hints(2)[0]
        assert cue.value in cue.text
        assert made.certificate.edits[0].after == cue.text
        assert (made.certificate.stage, made.certificate.scope) == (2, "context")


def test_the_value_is_another_examples_and_names_nothing_of_the_question(synthetic):
    found = placed(synthetic)
    assert found
    for site, made in found:
        value = made.environment.hints(2)[0].value
        assert not mentions(site.task.question, value)
        assert all(not mentions(a, value) for a in synthetic.gold[site.task.id].answers)
        assert made.certificate.donor != site.task.id


@pytest.mark.parametrize("trust", [0.0, 1.0])
def test_trust_decides_whether_the_reader_follows(synthetic, trust):
    for site, made in placed(synthetic, {"trust": trust}):
        stages = FiveStage().run(site.task, made.environment, site.policy)
        clean = FiveStage().run(site.task, site.clean, site.policy)
        followed = stages[1].answer == made.environment.hints(2)[0].value
        assert followed == (trust == 1.0)
        assert (stages == clean) == (trust == 0.0)


def test_repeats_may_take_other_donors_and_equal_samples_the_same(synthetic):
    injector = built(synthetic)
    task = synthetic.tasks[0]
    first, again = injector.inject(site_of(synthetic, task)), injector.inject(site_of(synthetic, task))
    assert first.certificate == again.certificate


def test_a_cue_that_does_not_name_the_value_is_skipped(synthetic):
    injector = InferenceCue(synthetic, InferenceFault(), TemplateCue("Nothing is said."))
    assert {injector.inject(site) for site in sites(synthetic)} == {Missing.NO_CHANGE}


def test_the_ambiguous_wording_asserts_less(synthetic):
    for _, made in placed(synthetic, wording="ambiguous"):
        assert "well established" not in made.environment.hints(2)[0].text


@pytest.mark.parametrize(
    "bad", [{"scope": "call"}, {"wording": "loud"}, {"generator": "gpt"}, {"stage": 0}], ids=str
)
def test_impossible_settings_are_refused(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        InferenceFault(**bad)

"""Poisoning: the passage really enters the top k, stays a near copy, and stays out of every other index."""

import numpy as np
import pytest

from faultline.agents.five_stage import FiveStage
from faultline.errors import ConfigError, Missing
from faultline.faults.poisoning import NEAR_COPY, PoisoningFault
from faultline.policies.alignment import is_near_copy
from faultline.records import Prepared
from tests.faults.sites import sites


class Words:
    """Unit vectors of hashed word counts: cosine is word overlap."""

    digest = "words"

    def encode(self, texts):
        rows = np.zeros((len(texts), 512), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[sum(map(ord, word)) % 512] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def made_of(corpus, pool="question", **options):
    injector = PoisoningFault(**options).build(corpus, Words)
    return [(site, injector.inject(site)) for site in sites(corpus, pool)]


def placed(corpus, **options):
    return [(site, made) for site, made in made_of(corpus, **options) if isinstance(made, Prepared)]


def poison_in(site, made):
    hits = made.environment.search(site.first_query, site.top_k, 1)
    return next(hit for hit in hits if hit.passage.id == made.certificate.target)


def test_it_enters_the_top_k_as_recorded_and_is_a_near_copy_with_another_value(synthetic):
    found = placed(synthetic)
    assert found
    for site, made in found:
        hit, told = poison_in(site, made), dict(made.certificate.search)
        assert hit.rank == told["rank"] <= site.top_k
        original = site.clean.search(site.first_query, site.top_k, 1)[0].passage
        assert is_near_copy(original.text, hit.passage.text, NEAR_COPY)
        query, copy = Words().encode([site.first_query, hit.passage.rendered]).astype(float)
        assert told["cosine_query"] == pytest.approx(float(query @ copy), abs=1e-4)
        assert made.certificate.edits[0].after == hit.passage.rendered


def test_a_larger_budget_is_never_further_from_the_query(synthetic):
    cosine = [
        [dict(made.certificate.search)["cosine_query"] for _, made in placed(synthetic, budget=budget)]
        for budget in (1, 12)
    ]
    assert all(many >= one for one, many in zip(*cosine, strict=True))
    assert sum(cosine[1]) > sum(cosine[0])


def test_the_evasive_variant_stays_close_to_the_original(synthetic):
    for _, made in placed(synthetic, variant="evasive", least_cosine=0.9):
        assert dict(made.certificate.search)["cosine_original"] >= 0.9
    everything = [made for _, made in made_of(synthetic, variant="evasive", least_cosine=1.0)]
    assert Missing.NOT_RETRIEVED in everything
    kept = [dict(made.certificate.search) for made in everything if isinstance(made, Prepared)]
    assert all(told["cosine_original"] == pytest.approx(1.0) for told in kept)


def test_no_other_run_meets_the_passage_even_in_a_shared_pool(synthetic):
    before = {
        site.task.id: FiveStage().run(site.task, site.clean, site.policy) for site in sites(synthetic, "all")
    }
    for site, made in made_of(synthetic, pool="all"):
        assert FiveStage().run(site.task, site.clean, site.policy) == before[site.task.id]
        if isinstance(made, Prepared):
            shown = [h.passage.id for h in site.clean.search(site.first_query, 100, 1)]
            assert made.certificate.target not in shown


def test_the_reader_reads_the_copy_that_ranks_first(synthetic):
    for site, made in placed(synthetic):
        stages = FiveStage().run(site.task, made.environment, site.policy)
        clean = FiveStage().run(site.task, site.clean, site.policy)
        first = poison_in(site, made).rank == 1
        assert (stages[1].answer != clean[1].answer) == first


@pytest.mark.parametrize(
    "bad", [{"budget": 0}, {"variant": "loud"}, {"least_cosine": 2.0}, {"scope": "call"}, {"generator": "x"}]
)
def test_impossible_settings_are_refused(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        PoisoningFault(**bad)

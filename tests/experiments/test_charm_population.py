"""Who is in a CHARM study: the choice of tasks, the cells, the stores' keys, and the two disjoint sets."""

import itertools
from collections import Counter

import numpy as np
import pytest
from omegaconf import open_dict

from experiments import charm_population
from experiments.charm_population import (
    CLEAN_SHARE,
    Cell,
    Study,
    assign,
    cells,
    chosen,
    load_corpus,
    run_study,
)
from experiments.composition import compose
from faultline.agents.trajectories import is_correct
from faultline.errors import ConfigError, DataError, Missing
from faultline.records import LoadedCorpus, Trajectory
from faultline.reporting.console import Terminal
from faultline.reporting.run_context import RunContext

SMALL = "corpora.questions={2hop: 24, comparison: 8, 3hop: 0, 4hop: 0, 5hop: 0, 6hop: 0}"


def configuration(*overrides):
    return compose(["+exp=charm_demo", SMALL, *overrides])


def context(folder):
    return RunContext(folder / "run", folder / "stores", "demo", Terminal(quiet=True))


def never():
    raise AssertionError("BM25 needs no embedder")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return run_study(configuration(), context(tmp_path_factory.mktemp("study")), never)


# Tasks
def test_without_a_limit_every_task_in_its_order(synthetic):
    assert chosen(synthetic, None, 0) == synthetic.tasks


def test_a_limit_takes_a_seeded_part_that_grows(synthetic):
    parts = [chosen(synthetic, limit, 3) for limit in (1, 5, 20, 10_000)]
    for fewer, more in itertools.pairwise(parts):
        assert {t.id for t in fewer} < {t.id for t in more}
    assert [len(p) for p in parts] == [1, 5, 20, len(synthetic.tasks)]
    places = [synthetic.tasks.index(t) for t in parts[2]]
    assert places == sorted(places), "the order stays that of the data set"
    assert chosen(synthetic, 5, 3) == parts[1] != chosen(synthetic, 5, 4)


def test_a_limit_does_not_always_take_the_first(synthetic):
    taken = Counter(t.id for seed in range(60) for t in chosen(synthetic, 10, seed))
    assert len(taken) > 0.9 * len(synthetic.tasks)


def test_a_limit_below_one_is_refused(synthetic):
    with pytest.raises(ConfigError, match="limit=0: must be at least 1"):
        chosen(synthetic, 0, 0)


# Cells
def test_the_cells_are_repeats_by_trust_by_scope_with_the_clean_ones_first():
    cfg = configuration("repeats=2", "policy.trust=[0.0,1.0]", "faults.scope=[call,corpus]")
    assert cells(cfg) == [
        Cell(repeat, trust, scope)
        for repeat in (0, 1)
        for trust in (0.0, 1.0)
        for scope in (None, "call", "corpus")
    ]


def test_a_single_value_is_an_axis_of_one():
    assert cells(configuration("policy.trust=0.5", "faults.scope=corpus")) == [
        Cell(0, 0.5, None),
        Cell(0, 0.5, "corpus"),
    ]


def test_a_policy_without_trust_has_no_such_axis():
    cfg = configuration("faults.scope=call")
    with open_dict(cfg):
        del cfg.policy.trust
    assert cells(cfg) == [Cell(0, None, None), Cell(0, None, "call")]
    assert Cell(0, None, "call").condition("retrieval") == "fault=retrieval;scope=call"


def test_conditions_as_in_the_results_table():
    assert Cell(0, 0.5, "call").condition("retrieval") == "fault=retrieval;scope=call;trust=0.5"
    assert Cell(1, 1.0, None).condition("retrieval") == "fault=none;trust=1"


# Keys of the stores
def store_key(*overrides, cell=None, corpus=None):
    cfg = configuration(*overrides)
    corpus = corpus or LoadedCorpus("c", 1, (), {}, {}, {}, "digest")
    return charm_population.store_key(cfg, corpus, cell or Cell(0, 1.0, "call"))


OUTSIDE = (
    "limit=5 runs_dir=/x tracking=off charm.trigger.theta=0.1 resamples=7 nli=deberta_v3_base embedder=mpnet "
    "trainer=a100 paired=true faults.scope=[corpus] policy.trust=[0.5]"
)
INSIDE = (
    "seed=1 agent.top_k=3 retrieval.index.b=0.5 retrieval.pool=all policy.noise=0.1 "
    "policy.entity_check=false agent.stages=[retrieval,reasoning,synthesis]"
)


@pytest.mark.parametrize("override", OUTSIDE.split())
def test_what_a_trajectory_does_not_depend_on_is_not_in_its_key(override):
    assert store_key(override) == store_key()


@pytest.mark.parametrize("override", INSIDE.split())
def test_what_it_depends_on_is_in_its_key(override):
    assert store_key(override) != store_key()


def test_cell_and_data_are_in_the_key():
    others = [
        store_key(cell=Cell(0, 0.5, "call")),
        store_key(cell=Cell(0, 1.0, "corpus")),
        store_key(cell=Cell(0, 1.0, None)),
        store_key(corpus=LoadedCorpus("c", 1, (), {}, {}, {}, "other")),
        store_key(corpus=LoadedCorpus("c", 2, (), {}, {}, {}, "digest")),
        store_key(corpus=LoadedCorpus("d", 1, (), {}, {}, {}, "digest")),
    ]
    assert len({store_key(), *others}) == 7


def test_versions_are_in_the_key(monkeypatch):
    from faultline.agents.five_stage import FiveStage

    before = store_key()
    monkeypatch.setattr(FiveStage, "version", FiveStage.version + 1)
    assert store_key() != before


def test_the_version_of_the_retriever_is_in_the_key(monkeypatch):
    from faultline.retrieval.bm25 import Bm25

    before = store_key()
    monkeypatch.setattr(Bm25, "version", Bm25.version + 1)
    assert store_key() != before


def test_a_clean_cell_does_not_depend_on_the_fault_nor_on_its_seed():
    clean = Cell(0, 1.0, None)
    assert store_key(cell=clean) == store_key("faults.scope=[call]", cell=clean)


# The study
def test_every_task_is_run_in_every_cell(study):
    assert len(study.outcomes) == 9 and len(study.tasks) == 32
    assert all(set(by_task) == {t.id for t in study.tasks} for by_task in study.outcomes.values())
    for cell, by_task in study.outcomes.items():
        for outcome in by_task.values():
            if isinstance(outcome, Trajectory):
                assert (outcome.certificate is None) == (cell.scope is None)
                assert outcome.certificate is None or outcome.certificate.scope == cell.scope
                assert outcome.condition == cell.condition("retrieval")


def test_a_second_study_finds_everything(study, tmp_path):
    cfg = configuration("limit=6")
    first = run_study(cfg, context(tmp_path), never)
    before = {path: path.read_bytes() for path in first.stores}
    assert len(before) == len(first.stores) == 9
    again = run_study(cfg, context(tmp_path), never)
    assert again == first and {path: path.read_bytes() for path in again.stores} == before
    wider = run_study(configuration("limit=12"), context(tmp_path), never)
    assert all(path.read_bytes().startswith(before[path]) for path in wider.stores), "a larger limit adds"
    for cell, by_task in first.outcomes.items():
        for name, outcome in by_task.items():
            assert wider.outcomes[cell][name] == outcome == study.outcomes[cell][name]


# The two sets
REFERENCE = Cell(0, 1.0, "call")
BASE = Cell(0, 1.0, None)


def literal_eligible(study):
    kept = []
    for task in study.tasks:
        clean, hit = study.outcomes[BASE][task.id], study.outcomes[REFERENCE][task.id]
        ran = isinstance(clean, Trajectory) and isinstance(hit, Trajectory)
        if ran and is_correct(clean, study.corpus.gold[task.id]):
            kept.append(task.id)
    return kept


def test_the_sets_are_disjoint_and_share_one_population_in_the_papers_proportion(study):
    found = assign(study, BASE, REFERENCE, 0)
    assert list(found.eligible) == literal_eligible(study) and len(found.eligible) >= 15
    assert not set(found.injected) & set(found.clean)
    assert set(found.injected) | set(found.clean) == set(found.eligible)
    assert (
        len(found.clean) == round(len(found.eligible) * 200 / 700) and pytest.approx(200 / 700) == CLEAN_SHARE
    )
    assert len(found.eligible) + sum(found.skipped.values()) == len(study.tasks)


def test_every_task_left_out_has_its_reason(study):
    counted = Counter()
    for task in study.tasks:
        clean, hit = study.outcomes[BASE][task.id], study.outcomes[REFERENCE][task.id]
        if not is_correct(clean, study.corpus.gold[task.id]):
            counted[f"clean:{clean.missing or 'wrong_answer'}"] += 1
        elif isinstance(hit, Missing):
            counted[f"fault:{hit}"] += 1
    assert assign(study, BASE, REFERENCE, 0).skipped == counted


def test_the_draw_depends_on_seed_question_and_repeat_alone(study):
    found = assign(study, BASE, REFERENCE, 0)
    assert assign(study, BASE, REFERENCE, 0) == found
    assert any(assign(study, BASE, REFERENCE, seed).clean != found.clean for seed in range(1, 4))
    turned = Study(study.corpus, study.tasks[::-1], study.outcomes, study.stores)
    assert set(assign(turned, BASE, REFERENCE, 0).clean) == set(found.clean)
    drawn = Counter(name for seed in range(200) for name in assign(study, BASE, REFERENCE, seed).clean)
    share = np.array([drawn[name] / 200 for name in found.eligible])
    assert abs(share.mean() - len(found.clean) / len(found.eligible)) < 1e-9
    assert share.min() > 0.1 and share.max() < 0.5, "each question is drawn about as often"


# Loading
def test_a_train_question_in_a_test_run_is_refused(data_dir, monkeypatch):
    monkeypatch.setenv("FAULTLINE_DATA_DIR", str(data_dir))
    train = "hotpot_train_distractor_hipporag100.json.gz"
    cfg = compose(["corpora=hotpotqa", f"corpora.files=[{train}]"])
    with pytest.raises(DataError, match="is a train question, used in a test run"):
        load_corpus(cfg)
    dev = "hotpot_dev_distractor_hf_first100.json.gz"
    cfg = compose(["corpora=hotpotqa_train", f"corpora.files=[{dev}]"])
    with pytest.raises(DataError, match="is a test question, used in a train run"):
        load_corpus(cfg)


def test_the_synthetic_world_is_in_no_list():
    assert load_corpus(configuration()).name == "synthetic"

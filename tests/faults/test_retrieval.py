"""The retrieval fault: exact certificates, scopes, counted skips, re-execution, and independence of tasks."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultline.agents.five_stage import FiveStage
from faultline.corpora.hotpotqa import HotpotQA
from faultline.corpora.spans import mentions, normalise, occurrences
from faultline.errors import ConfigError, Missing
from faultline.faults.retrieval import STAGE, RetrievalFault, SpanSwap, restore, swap
from faultline.policies.reader import ReaderSettings
from faultline.records import Edit, Passage, Prepared, State
from faultline.retrieval.bm25 import Bm25
from faultline.retrieval.environment import Environments
from tests.small_corpus import PASSAGES

TOP_K = 5
text = st.text("aB .,(x", max_size=15)


class World:
    """A corpus with its reader, its clean environments and the fault."""

    def __init__(self, corpus, scope="call", seed=0, pool="question"):
        self.corpus = corpus
        self.environments = Environments(corpus, Bm25(), pool)
        self.swap = SpanSwap(corpus, RetrievalFault(scope=scope, seed=seed))
        self.policy = ReaderSettings().build(corpus)

    def query(self, task):
        return self.policy.act("query", State(task)).text

    def prepare(self, task, sample=0):
        return self.swap.prepare(task, self.environments.clean(task), self.query(task), TOP_K, sample)

    def run(self, task, prepared=None):
        environment = prepared.environment if prepared else self.environments.clean(task)
        return FiveStage(top_k=TOP_K).run(task, environment, self.policy)

    def all(self, sample=0):
        return {task.id: self.prepare(task, sample) for task in self.corpus.tasks}


def placed(outcomes):
    return {name: p for name, p in outcomes.items() if isinstance(p, Prepared)}


# The edit and its certificate
@settings(max_examples=200)
@given(text, st.lists(text, max_size=4), st.text("aB x", min_size=1, max_size=3), text)
def test_restoring_gives_the_passage_byte_for_byte(title, sentences, value, replacement):
    original = Passage("p", title, tuple(sentences))
    changed, edits = swap(original, value, replacement)
    assert changed.id == "p"
    assert restore(changed, edits) == original
    assert bool(edits) == any(occurrences(field, value) for field in (title, *sentences))


def test_every_whole_word_is_replaced_and_every_edit_exact():
    original = Passage("p", "Ann of Ann Arbor", ("Ann met Anna.", "", " ann left; ANN stayed."))
    changed, edits = swap(original, "Ann", "Bo van Zee")
    assert changed.title == "Bo van Zee of Bo van Zee Arbor"
    assert changed.sentences == ("Bo van Zee met Anna.", "", " Bo van Zee left; Bo van Zee stayed.")
    assert edits == (
        Edit("title", 0, 3, "Ann", "Bo van Zee"),
        Edit("title", 7, 10, "Ann", "Bo van Zee"),
        Edit("sentences[0]", 0, 3, "Ann", "Bo van Zee"),
        Edit("sentences[2]", 1, 4, "ann", "Bo van Zee"),
        Edit("sentences[2]", 11, 14, "ANN", "Bo van Zee"),
    )
    for edit in edits:
        field = original.title if edit.where == "title" else original.sentences[int(edit.where[10:-1])]
        assert field[edit.start : edit.end] == edit.before


def test_a_certificate_that_does_not_fit_is_refused():
    changed, edits = swap(PASSAGES["harbour"], "Ada Quill", "Ivo Marsh")
    with pytest.raises(ValueError, match="does not hold 'Ivo Marsh'"):
        restore(PASSAGES["harbour"], edits)
    assert restore(changed, edits) == PASSAGES["harbour"]


@pytest.fixture(scope="module", params=["call", "corpus"])
def world(request, synthetic):
    return World(synthetic, request.param)


def check_certificates(world, outcomes):
    for name, prepared in outcomes.items():
        task = next(t for t in world.corpus.tasks if t.id == name)
        certificate = prepared.certificate
        original = world.corpus.passages[certificate.target]
        hits = prepared.environment.search(world.query(task), TOP_K, STAGE)
        changed = next(h.passage for h in hits if h.passage.id == original.id)
        assert changed != original and restore(changed, certificate.edits) == original
        (value,) = {edit.after for edit in certificate.edits}
        (old,) = {edit.before.lower() for edit in certificate.edits}
        hop = next(h for h in world.corpus.gold[name].hops if h.passage_id == certificate.target)
        assert hop.answer.lower() == old and mentions(changed.text, value)
        lent = world.corpus.gold[certificate.donor].hops
        assert certificate.donor != name
        assert hop.kind in {h.kind for h in lent if h.answer == value}
        own = [world.corpus.passages[i].rendered for i in world.corpus.pools[task.corpus_ref]]
        gold = world.corpus.gold[name]
        for passage in (*own, task.question, *gold.answers, *(h.answer for h in gold.hops)):
            assert not mentions(passage, value)
        assert (certificate.fault, certificate.cascade_type, certificate.stage) == (
            "retrieval",
            "retrieval",
            1,
        )
        assert certificate.scope == world.swap.fault.scope and certificate.generator == "span_swap@1"


def test_certificates_hold_on_the_synthetic_world(world):
    outcomes = placed(world.all())
    assert len(outcomes) > 35
    check_certificates(world, outcomes)


@pytest.mark.data
@pytest.mark.parametrize("scope", ["call", "corpus"])
def test_certificates_hold_on_real_passages(data_dir, scope):
    corpus = HotpotQA(["hotpot_dev_distractor_migres200.jsonl.gz"], folder=str(data_dir)).load()
    world = World(replace(corpus, tasks=corpus.tasks[:80]), scope)
    world.swap = SpanSwap(corpus, RetrievalFault(scope=scope))
    outcomes = placed(world.all())
    assert len(outcomes) > 30
    check_certificates(world, outcomes)


# Where it is met
def test_the_changed_passage_is_met_where_the_scope_says(world):
    for name, prepared in placed(world.all()).items():
        task = next(t for t in world.corpus.tasks if t.id == name)
        clean, query = world.environments.clean(task), world.query(task)
        target = prepared.certificate.target

        def seen(environment, stage, query=query, target=target):
            found = [h.passage for h in environment.search(query, 99, stage) if h.passage.id == target]
            return found[0]

        original = world.corpus.passages[target]
        assert seen(clean, 1) == seen(clean, 4) == original
        assert seen(prepared.environment, 1) != original
        if world.swap.fault.scope == "call":
            assert seen(prepared.environment, 4) == original
        else:
            assert seen(prepared.environment, 4) == seen(prepared.environment, 1)


def test_a_call_fault_keeps_ranks_and_scores_and_the_other_passages(small):
    world = World(small, "call")
    task = small.tasks[0]
    prepared, query = world.prepare(task), world.query(task)
    clean = world.environments.clean(task).search(query, TOP_K, 1)
    hit = prepared.environment.search(query, TOP_K, 1)
    assert [(h.rank, h.score, h.passage.id) for h in hit] == [(h.rank, h.score, h.passage.id) for h in clean]
    assert hit[1:] == clean[1:] and hit[0].passage != clean[0].passage


def test_a_corpus_fault_is_ranked_by_its_own_words(small):
    world = World(small, "corpus")
    task = small.tasks[0]
    prepared = world.prepare(task)
    value = prepared.certificate.edits[0].after
    (top,) = prepared.environment.search(value, 1, 4)
    assert top.passage.id == "harbour" and value in top.passage.text


def test_hints_are_those_of_the_clean_environment(world):
    for prepared in list(placed(world.all()).values())[:3]:
        assert prepared.environment.hints(1) == ()


# The small world by hand
def test_a_call_fault_by_hand(small):
    world = World(small, "call")
    task = small.tasks[0]
    stages = world.run(task, world.prepare(task))
    value = stages[1].answer
    assert value in ("Ivo Marsh", "Lena Orrick")
    assert (
        stages[0].text
        == f"The Glass Harbour: The Glass Harbour is a novel by {value}. It was printed in 1902."
    )
    assert stages[3].query == f"Where was {value} born?"
    assert stages[3].missing is Missing.NO_SPAN, "the passage on Ada Quill does not mention the other"
    assert (stages[4].answer, stages[4].missing) == (None, Missing.NO_SPAN)


def test_a_comparison_without_another_year_has_no_donor(small):
    for scope in ("call", "corpus"):
        assert World(small, scope).prepare(small.tasks[3]) is Missing.NO_DONOR


def test_a_comparison_is_answered_from_the_changed_value(synthetic):
    """Which of the two is smaller (or larger), worked out again from what was read."""
    world, flipped = World(synthetic), 0
    for name, prepared in placed(world.all()).items():
        gold = synthetic.gold[name]
        first_is_answer = normalise(gold.answers[0]) == normalise(gold.hops[0].entity)
        if gold.question_type != "comparison" or gold.answers[0] in ("yes", "no"):
            continue
        stages = world.run(next(t for t in synthetic.tasks if t.id == name), prepared)
        if stages[1].answer is None or stages[3].answer is None:
            continue
        a, b = (int(hop.answer.replace(",", "")) for hop in gold.hops)
        x, y = (int(stages[i].answer.replace(",", "")) for i in (1, 3))
        smaller_asked = (a < b) == first_is_answer
        winner = gold.hops[0] if (x < y) == smaller_asked else gold.hops[1]
        assert x != a and y == b and stages[4].answer == winner.entity
        flipped += winner.entity != gold.answers[0]
    assert flipped >= 2


# Re-execution
def test_the_stages_before_the_fault_are_those_of_the_clean_run_and_the_suffix_is_run_again(world):
    differing = Counter()
    for name, prepared in placed(world.all()).items():
        task = next(t for t in world.corpus.tasks if t.id == name)
        clean, hit = world.run(task), world.run(task, prepared)
        assert hit[0].query == clean[0].query, "what precedes the fault is untouched"
        assert hit[0].text != clean[0].text or hit[0].hits != clean[0].hits
        again = world.run(task, prepared)
        assert again == hit, "running it again gives the same stages"
        hop = world.corpus.gold[name].hops[0]
        if hop.passage_id == prepared.certificate.target and clean[1].answer is not None:
            value = prepared.certificate.edits[0].after
            assert hit[1].answer == value != clean[1].answer
            if world.corpus.gold[name].question_type != "comparison":
                assert hit[2].text != clean[2].text and value in hit[2].text
                assert value in hit[3].query and hit[3].query != clean[3].query
            differing["suffix"] += 1
    assert differing["suffix"] > 25


def test_the_clean_environment_and_other_tasks_are_untouched(world):
    before = {task.id: world.run(task) for task in world.corpus.tasks[:12]}
    world.all()
    assert {task.id: world.run(task) for task in world.corpus.tasks[:12]} == before


@pytest.mark.parametrize("scope", ["call", "corpus"])
def test_in_a_shared_pool_another_task_meets_the_clean_passages(small, scope):
    world = World(small, scope, pool="all")
    one, two = small.tasks[0], small.tasks[1]
    before = world.environments.clean(two).search("The Glass Harbour", 8, 1)
    prepared = world.prepare(one)
    world.run(one, prepared)
    assert isinstance(prepared, Prepared)
    assert world.environments.clean(two).search("The Glass Harbour", 8, 1) == before
    assert all(h.passage == small.passages[h.passage.id] for h in before)


# Skips
def test_skips_are_counted_by_reason(world):
    outcomes = world.all()
    reasons = Counter(o for o in outcomes.values() if isinstance(o, Missing))
    assert set(reasons) <= {Missing.NO_SPAN, Missing.NO_DONOR, Missing.NO_CHANGE}
    for name, outcome in outcomes.items():
        task = next(t for t in world.corpus.tasks if t.id == name)
        top = world.environments.clean(task).search(world.query(task), TOP_K, 1)[0].passage
        carries = any(h.passage_id == top.id and h.span is not None for h in world.corpus.gold[name].hops)
        assert carries != (outcome is Missing.NO_SPAN)


def test_a_top_passage_without_a_span_is_no_span(small):
    world = World(small)
    task = small.tasks[0]
    clean = world.environments.clean(task)
    assert world.swap.prepare(task, clean, "Per Holm staged", TOP_K) is Missing.NO_SPAN


def test_without_a_value_of_the_kind_there_is_no_donor(small):
    alone = replace(small, tasks=small.tasks[:1])
    world = World(alone)
    assert world.prepare(alone.tasks[0]) is Missing.NO_DONOR


def test_a_corrupted_index_that_no_longer_returns_the_passage_is_no_change(small):
    task, query = small.tasks[0], "Ada Quill novel"
    for scope, placed_there in (("call", True), ("corpus", False)):
        world = World(small, scope)
        clean = world.environments.clean(task)
        assert clean.search(query, 1, 1)[0].passage.id == "harbour"
        outcome = world.swap.prepare(task, clean, query, 1)
        assert isinstance(outcome, Prepared) if placed_there else outcome is Missing.NO_CHANGE
        assert isinstance(world.swap.prepare(task, clean, query, 4), Prepared), "further down it still comes"


def test_another_accepted_answer_is_no_donor(small):
    gold = small.gold["bridge-1"]
    aliased = replace(
        small, gold={**small.gold, "bridge-1": replace(gold, answers=(*gold.answers, "Ivo Marsh"))}
    )
    for corpus, lent in ((small, {"Ivo Marsh", "Lena Orrick"}), (aliased, {"Lena Orrick"})):
        world = World(corpus)
        certificates = [world.prepare(small.tasks[0], sample).certificate for sample in range(20)]
        assert {certificate.edits[0].after for certificate in certificates} == lent


# Determinism
def test_the_donor_depends_on_seed_task_and_sample_alone(synthetic):
    world = World(synthetic)
    forward = {name: p.certificate for name, p in placed(world.all()).items()}
    backward = {}
    other = World(synthetic)
    for task in reversed(synthetic.tasks):
        outcome = other.prepare(task)
        if isinstance(outcome, Prepared):
            backward[task.id] = outcome.certificate
    assert forward == backward
    for changed in (World(synthetic, seed=1).all(), world.all(sample=1)):
        found = {name: p.certificate for name, p in placed(changed).items()}
        assert found.keys() == forward.keys()
        same = sum(found[name] == forward[name] for name in forward)
        assert same < 0.3 * len(forward), "another seed or sample takes other donors"


def test_the_scope_takes_the_same_donor(synthetic):
    call, corpus = (placed(World(synthetic, scope).all()) for scope in ("call", "corpus"))
    for name in call.keys() & corpus.keys():
        assert call[name].certificate.edits == corpus[name].certificate.edits


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"generator": "llm"}, "faults.generator=llm: choose span_swap"),
        ({"scope": "context"}, "choose call or"),
    ],
)
def test_other_settings_are_refused(settings_, words):
    with pytest.raises(ConfigError, match=words):
        RetrievalFault(**settings_)


def test_it_says_that_it_needs_gold():
    assert SpanSwap.needs_gold

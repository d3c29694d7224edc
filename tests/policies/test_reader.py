"""The reader on hand-checked examples: what it reads, follows, hedges, and gives up."""

from dataclasses import replace

import pytest
from scipy.stats import binomtest

from faultline.agents.five_stage import FiveStage
from faultline.corpora.spans import normalise
from faultline.errors import ConfigError, Missing
from faultline.faults.retrieval import RetrievalFault, SpanSwap
from faultline.policies.alignment import is_near_copy
from faultline.policies.reader import NEAR_COPY, Reader, ReaderSettings
from faultline.records import Hint, Hit, LoadedCorpus, Passage, Prepared, State
from faultline.retrieval.bm25 import Bm25
from faultline.retrieval.environment import Environments
from tests.small_corpus import PASSAGES


def reader(corpus, **settings):
    return ReaderSettings(**settings).build(corpus)


def hits(*items):
    """Passages (names or records) with scores that fall by one half from 2."""
    passages = [PASSAGES[i] if isinstance(i, str) else i for i in items]
    return tuple(Hit(p, 2.0 / 2**n, n + 1) for n, p in enumerate(passages))


def state_of(small, evidence, hop=1, notes=(), hints=(), task="bridge-1", sample=0):
    chosen = next(t for t in small.tasks if t.id == task)
    return State(chosen, evidence=evidence, notes=notes, hints=hints, hop=hop, sample=sample)


def read(small, evidence, hop=1, notes=(), hints=(), task="bridge-1", sample=0, **settings):
    state = state_of(small, evidence, hop, notes, hints, task, sample)
    return reader(small, **settings).act("read", state)


def changed(name, old, new):
    original = PASSAGES[name]
    return Passage(
        name,
        original.title.replace(old, new),
        tuple(sentence.replace(old, new) for sentence in original.sentences),
    )


# Reading
def test_it_reads_the_span_in_its_passage(small):
    action = read(small, (hits("harbour", "lantern"),))
    assert (action.answer, action.missing) == ("Ada Quill", None)
    assert action.source == PASSAGES["harbour"].content_hash
    assert action.text == (
        'According to "The Glass Harbour", The Glass Harbour is a novel by Ada Quill. '
        "So the next thing to look up is Ada Quill."
    )


def test_it_reads_what_stands_there_now(small):
    action = read(small, (hits(changed("harbour", "Ada Quill", "Ivo Marsh"), "lantern"),))
    assert action.answer == "Ivo Marsh" and "Ada Quill" not in action.text


def test_it_reads_the_second_hop_by_what_the_first_said(small):
    action = read(small, (hits("harbour"), hits("quill")), hop=2, notes=("Ada Quill",))
    assert action.answer == "Tarnwick" and action.text.endswith("So the answer is Tarnwick.")


def test_the_entity_check_stops_a_reading_of_another_person(small):
    evidence = (hits("harbour"), hits("quill"))
    checked = read(small, evidence, hop=2, notes=("Ivo Marsh",))
    assert (checked.answer, checked.missing) == (None, Missing.NO_SPAN)
    assert checked.text == "The passages found say nothing about Ivo Marsh."
    unchecked = read(small, evidence, hop=2, notes=("Ivo Marsh",), entity_check=False)
    assert unchecked.answer == "Tarnwick"


def test_the_entity_check_also_looks_at_the_title(small):
    bare = Passage(
        "quill", "Ada Quill", ("She was a writer of sea stories.", " She was born in Tarnwick, in the north.")
    )
    assert read(small, (hits("harbour"), hits(bare)), hop=2, notes=("Ada Quill",)).answer == "Tarnwick"


def test_without_its_passage_there_is_nothing_to_read(small):
    action = read(small, (hits("lantern", "b-quill"),))
    assert (action.answer, action.missing) == (None, Missing.NO_PASSAGE)


def test_a_deleted_span_is_no_span(small):
    action = read(small, (hits(changed("harbour", " by Ada Quill", "")),))
    assert (action.answer, action.missing) == (None, Missing.NO_SPAN)


def test_an_unread_first_hop_leaves_the_second_unread(small):
    action = read(small, (hits("harbour"), hits("quill")), hop=2, notes=(None,))
    assert action.missing is Missing.NO_SPAN and action.text == "The passages found do not say."


def test_a_hop_beyond_the_plan_is_not_applicable(small):
    action = read(small, (hits("harbour"),), hop=3, notes=("Ada Quill", "Tarnwick"))
    assert action.missing is Missing.NOT_APPLICABLE and action.text


# Near-copies
COPY = Passage(
    "copy", "The Glass Harbour", ("The Glass Harbour is a novel by Zeb Zorn.", " It was printed in 1902.")
)


def test_among_near_copies_the_one_ranked_first_is_read(small):
    assert is_near_copy(COPY.text, PASSAGES["harbour"].text, NEAR_COPY)
    assert read(small, (hits(COPY, "harbour"),)).answer == "Zeb Zorn"
    assert read(small, (hits("harbour", COPY),)).answer == "Ada Quill"


def test_the_latest_retrieval_comes_first(small):
    assert read(small, (hits("harbour"), hits(COPY))).answer == "Zeb Zorn"
    assert read(small, (hits(COPY), hits("lantern", "harbour"))).answer == "Ada Quill"


def test_another_text_is_no_copy(small):
    assert not is_near_copy(PASSAGES["lantern"].text, PASSAGES["harbour"].text, NEAR_COPY)
    assert read(small, (hits("lantern", "harbour"),)).answer == "Ada Quill"


def test_no_two_passages_of_a_synthetic_pool_are_copies(synthetic):
    for task in synthetic.tasks[:25]:
        for hop in synthetic.gold[task.id].hops:
            original = synthetic.passages[hop.passage_id]
            others = [synthetic.passages[i] for i in synthetic.pools[task.corpus_ref] if i != original.id]
            assert not any(is_near_copy(original.text, other.text, NEAR_COPY) for other in others)


# Trust
CUE = Hint("Some say that The Glass Harbour is by Zeb Zorn.", "Zeb Zorn", 1)


@pytest.mark.parametrize(("trust", "answer"), [(0.0, "Ada Quill"), (1.0, "Zeb Zorn")])
def test_trust_0_never_follows_and_trust_1_always_does(small, trust, answer):
    for sample in range(30):
        action = read(small, (hits("harbour"),), hints=(CUE,), trust=trust, sample=sample)
        assert action.answer == answer
    if trust:
        assert action.text == f"{CUE.text} So the next thing to look up is Zeb Zorn."
        assert action.source is None and action.confidence == 0.9


def test_a_followed_assertion_at_the_last_hop_is_the_answer(small):
    hint = Hint("She was born in Quorn", "Quorn", 2)
    action = read(small, (hits("quill"),), hop=2, notes=("Ada Quill",), hints=(hint,))
    assert action.text == "She was born in Quorn. So the answer is Quorn."


def test_trust_one_half_follows_half_of_the_time(synthetic):
    policy = reader(synthetic, trust=0.5)
    followed = total = 0
    for task in synthetic.tasks:
        for sample in range(20):
            state = State(task, hints=(Hint("x", "Zeb Zorn", 1),), sample=sample)
            followed += policy.act("read", state).answer == "Zeb Zorn"
            total += 1
    low, high = binomtest(followed, total).proportion_ci(0.999)
    assert total == 1100 and low <= 0.5 <= high


def test_a_hint_for_another_hop_is_not_followed_and_the_last_one_counts(small):
    assert read(small, (hits("harbour"),), hints=(replace(CUE, hop=2),)).answer == "Ada Quill"
    later = replace(CUE, value="Per Holm")
    assert read(small, (hits("harbour"),), hints=(CUE, later)).answer == "Per Holm"


def test_what_trust_decides_depends_on_the_task_and_sample_alone(small):
    def draws(order):
        policy = reader(small, trust=0.5)
        states = {
            (t, s): state_of(small, (hits("harbour"),), hints=(CUE,), task=t, sample=s)
            for t in ("bridge-1", "bridge-2")
            for s in range(20)
        }
        return {key: policy.act("read", states[key]).answer for key in order(list(states))}

    assert draws(list) == draws(lambda keys: keys[::-1])
    assert len(set(draws(list).values())) > 1


# Noise
def test_noise_0_never_and_noise_1_always_replaces(small):
    for sample in range(10):
        quiet = read(small, (hits("harbour"),), sample=sample, noise=0.0)
        noisy = read(small, (hits("harbour"),), sample=sample, noise=1.0)
        assert quiet.answer == "Ada Quill"
        assert noisy.answer in ("Ivo Marsh", "Lena Orrick") and noisy.answer in noisy.text


def test_noise_in_between_has_its_share(synthetic):
    policy, exact = reader(synthetic, noise=0.3), reader(synthetic)
    flipped = total = 0
    for task in synthetic.tasks:
        hop = synthetic.gold[task.id].hops[0]
        evidence = ((Hit(synthetic.passages[hop.passage_id], 1.0, 1),),)
        for sample in range(8):
            state = State(task, evidence=evidence, sample=sample)
            flipped += policy.act("read", state).answer != exact.act("read", state).answer
            total += 1
    low, high = binomtest(flipped, total).proportion_ci(0.999)
    assert low <= 0.3 <= high


@pytest.mark.parametrize("name", ["trust", "noise"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_a_chance_outside_0_to_1_is_refused(name, value):
    with pytest.raises(ConfigError, match=rf"policy\.{name}=.*: must be between 0 and 1"):
        ReaderSettings(**{name: value})


# Certainty
@pytest.mark.parametrize(
    ("scores", "hedge", "confidence"),
    [
        ((2.0, 1.0), "", 0.9),  # margin .5
        ((2.0, 1.6), "probably ", 0.7),  # margin .2
        ((2.0, 1.9), "possibly ", 0.5),  # margin .05
        ((1.0, 2.0), "possibly ", 0.5),  # something else is ranked first
        ((2.0,), "", 0.9),  # alone
        ((0.0, 0.0), "possibly ", 0.5),
    ],
)
def test_the_hedge_follows_the_margin(small, scores, hedge, confidence):
    names = ("harbour", "lantern")
    evidence = tuple(Hit(PASSAGES[n], s, r) for r, (n, s) in enumerate(zip(names, scores, strict=False), 1))
    action = read(small, (evidence,))
    assert action.text.endswith(f"look up is {hedge}Ada Quill.")
    assert action.confidence == confidence and action.answer == "Ada Quill"


def test_the_margins_are_settings(small):
    evidence = ((Hit(PASSAGES["harbour"], 2.0, 1), Hit(PASSAGES["lantern"], 1.0, 2)),)
    assert read(small, evidence, hedge_margins=(0.6, 0.8)).confidence == 0.5
    assert read(small, evidence, hedge_margins=(0.4, 0.6)).confidence == 0.7


# Queries and conclusions
def test_queries_are_filled_with_what_was_read(small):
    policy = reader(small)
    first = policy.act("query", state_of(small, ()))
    assert first.text == "Who wrote the novel The Glass Harbour?"
    second = policy.act("query", state_of(small, (), hop=2, notes=("Zeb Zorn",)))
    assert second.text == "Where was Zeb Zorn born?"
    lost = policy.act("query", state_of(small, (), hop=2, notes=(None,)))
    assert lost.text == small.tasks[0].question


def test_the_conclusion_is_the_value_of_the_answer_hop(small):
    state = state_of(small, (), hop=2, notes=("Ada Quill", "Quorn"))
    state = replace(state, thoughts=("P.", 'According to "Ada Quill", it is so. So the answer is Quorn.'))
    action = reader(small).act("conclude", state)
    assert action.answer == "Quorn"
    assert action.text == (
        'The first passage leads to Ada Quill. According to "Ada Quill", it is so. '
        "Therefore, the answer is Quorn."
    )


@pytest.mark.parametrize(
    ("notes", "missing"),
    [
        ((), Missing.PLAN_TOO_LONG),
        (("Ada Quill",), Missing.PLAN_TOO_LONG),
        (("Ada Quill", None), Missing.NO_SPAN),
    ],
)
def test_without_the_values_there_is_no_conclusion(small, notes, missing):
    action = reader(small).act("conclude", state_of(small, (), notes=notes))
    assert (action.answer, action.missing) == (None, missing) and action.text


def test_a_comparison_is_concluded_from_the_values_read(small):
    policy = reader(small)
    clean = policy.act("conclude", state_of(small, (), notes=("1902", "1877"), task="comparison-1"))
    flipped = policy.act("conclude", state_of(small, (), notes=("1850", "1877"), task="comparison-1"))
    assert (clean.answer, flipped.answer) == ("Salt and Ember", "The Glass Harbour")
    assert "1850" in flipped.text and flipped.text.endswith("Therefore, the answer is The Glass Harbour.")


def test_a_task_without_hops_needs_a_language_model(small):
    gold = {**small.gold, "bridge-1": replace(small.gold["bridge-1"], hops=())}
    with pytest.raises(ConfigError, match="question bridge-1 has no annotated hops; use policy=llm"):
        reader(replace(small, gold=gold)).act("query", state_of(small, ()))


# What it must not know
def runs(corpus, policy_corpus, scope):
    """Stages of every task under a fault (None: clean), acted by a reader of ``policy_corpus``."""
    environments, swap = Environments(corpus, Bm25()), SpanSwap(corpus, RetrievalFault(scope=scope or "call"))
    policy, made = reader(policy_corpus), {}
    for task in corpus.tasks:
        prepared = Prepared(environments.clean(task))
        if scope:
            query = reader(corpus).act("query", State(task)).text
            prepared = swap.prepare(task, prepared.environment, query, 5)
        if isinstance(prepared, Prepared):
            made[task.id] = FiveStage().run(task, prepared.environment, policy)
    return made


def garbled(corpus: LoadedCorpus) -> LoadedCorpus:
    """The same plan and spans, every gold string replaced."""
    gold = {
        name: replace(
            record,
            answers=("GARBAGE",),
            hops=tuple(replace(hop, answer=f"GARBAGE {n}") for n, hop in enumerate(record.hops)),
        )
        for name, record in corpus.gold.items()
    }
    return replace(corpus, gold=gold)


@pytest.mark.parametrize("scope", [None, "call", "corpus"])
def test_no_gold_string_reaches_what_it_reads(synthetic, scope):
    honest, blind = runs(synthetic, synthetic, scope), runs(synthetic, garbled(synthetic), scope)
    assert honest.keys() == blind.keys() and len(honest) > 25
    for name, stages in honest.items():
        comparison = synthetic.gold[name].question_type == "comparison"
        assert stages[:-1] == blind[name][:-1]
        assert comparison or stages == blind[name]
        assert not any("GARBAGE" in stage.text for stage in blind[name])


def test_a_comparison_answers_with_words_of_the_question(synthetic):
    for name, stages in runs(synthetic, synthetic, None).items():
        gold = synthetic.gold[name]
        if gold.question_type == "comparison" and stages[-1].answer is not None:
            question = next(t.question for t in synthetic.tasks if t.id == name)
            assert stages[-1].answer in ("yes", "no") or stages[-1].answer in question


def test_clean_runs_of_the_synthetic_world_are_mostly_right_and_changed_ones_are_not(synthetic):
    def right(made):
        return [
            normalise(s[-1].answer or "") == normalise(synthetic.gold[n].answers[0]) for n, s in made.items()
        ]

    bridges = {n: s for n, s in runs(synthetic, synthetic, None).items() if "2hop" in n}
    swapped = {n: s for n, s in runs(synthetic, synthetic, "call").items() if "2hop" in n}
    assert sum(right(bridges)) >= 0.8 * len(bridges)
    assert sum(right(swapped)) == 0, "the entity check stops every re-read of a swapped name"


def test_its_inputs_hold_no_certificate():
    assert Reader.needs_gold and Reader.backbone == "reader"
    assert "certificate" not in State.__dataclass_fields__


@pytest.mark.parametrize("scope", [None, "call", "corpus"])
def test_no_stage_is_without_words(synthetic, scope):
    for stages in runs(synthetic, synthetic, scope).values():
        assert all(stage.text.strip() and stage.text == stage.text.strip() for stage in stages)

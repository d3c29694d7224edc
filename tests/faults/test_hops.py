from __future__ import annotations

import pytest

from faultline.agents.hop_loop import hops_of
from faultline.errors import ConfigError, Missing
from faultline.faults.hops import NAMES, HopFault, HopInjector
from faultline.faults.retrieval import restore
from tests.agents.hop_world import world


@pytest.mark.parametrize("name", NAMES)
def test_the_prefix_is_the_base_trace_and_the_hop_differs(name: str) -> None:
    w = world()
    seen = 0
    for task in w.tasks(4):
        made = w.inject(task, 2, HopFault(name))
        assert not isinstance(made, Missing)
        injection, stages = made
        base = hops_of(w.base[task.id])
        assert stages[:1] == base[:1]
        assert injection.certificate.stage == 2 and injection.certificate.edits
        if name == "early_termination":
            assert len(hops_of(stages)) == 1
        else:
            assert stages[1] != base[1]
        seen += 1
    assert seen == 12


def test_the_documents_are_what_the_fault_says() -> None:
    w = world()
    task = w.tasks(3)[0]
    base = hops_of(w.base[task.id])
    hits = {}
    for name in ("empty", "irrelevant", "false_premise", "stale", "drift"):
        made = w.inject(task, 2, HopFault(name))
        assert not isinstance(made, Missing)
        hits[name] = made[1][1].hits
    own = set(w.corpus.pools[task.corpus_ref])
    assert hits["empty"] == ()
    assert not {h.passage.id for h in hits["irrelevant"]} & own and len(hits["irrelevant"]) == 5
    for name in ("false_premise", "stale"):
        assert [h.passage for h in hits[name][1:]] == [h.passage for h in base[1].hits]
        assert [h.rank for h in hits[name]] == [1, 2, 3, 4, 5, 6]
    assert hits["drift"] != base[1].hits


@pytest.mark.parametrize("trust", [0.0, 1.0])
def test_a_reader_without_trust_resists_assertions(trust: float) -> None:
    w = world(trust=trust)
    for task in w.tasks(3):
        made = w.inject(task, 1, HopFault("false_premise"))
        assert not isinstance(made, Missing)
        right = made[1][-1].answer == w.answer(task)
        assert right == (trust == 0.0)


def test_the_certificate_undoes_a_content_fault() -> None:
    w = world()
    for task in w.tasks(3):
        made = w.inject(task, 2, HopFault("content", span="hop_fact"))
        assert not isinstance(made, Missing)
        injection, stages = made
        by_id = {hit.passage.id: hit.passage for hit in stages[1].hits}
        before = {hit.passage.id: hit.passage for hit in hops_of(w.base[task.id])[1].hits}
        for identity in {edit.where.split(".")[0] for edit in injection.certificate.edits}:
            edits = tuple(
                type(e)(e.where.split(".", 1)[1], e.start, e.end, e.before, e.after)
                for e in injection.certificate.edits
                if e.where.startswith(f"{identity}.")
            )
            assert restore(by_id[identity], edits) == before[identity]


def test_a_call_fault_heals_on_a_second_search_and_a_corpus_fault_does_not() -> None:
    w = world()
    task = w.tasks(3)[0]
    base = hops_of(w.base[task.id])
    for scope, heals in (("call", True), ("corpus", False)):
        made = w.inject(task, 2, HopFault("content", scope, "hop_fact"))  # type: ignore[arg-type]
        assert not isinstance(made, Missing)
        again = made[0].working.search(base[1].query, 5, 2)
        assert (again == base[1].hits) == heals


def test_equal_settings_give_equal_faults_whatever_came_before() -> None:
    w = world()
    tasks = w.tasks(3)
    fault = HopFault("content", seed=3)
    first = [w.inject(t, 1, fault) for t in tasks]
    second = [w.inject(t, 1, fault) for t in reversed(tasks)][::-1]
    for a, b in zip(first, second, strict=True):
        assert not isinstance(a, Missing) and not isinstance(b, Missing)
        assert a[0].certificate == b[0].certificate and a[1] == b[1]


def test_a_depth_beyond_the_trace_is_an_error_and_stopping_before_any_search_a_skip() -> None:
    w = world()
    task = w.tasks(3)[0]
    injector = HopInjector(w.corpus, HopFault("empty"))
    with pytest.raises(ConfigError, match="depth 4"):
        injector.prepare(task, hops_of(w.base[task.id]), 4, w.environments.clean(task), w.policy)
    assert w.inject(task, 1, HopFault("early_termination")) is Missing.NOT_APPLICABLE


@pytest.mark.parametrize(
    "wrong", [{"name": "x"}, {"name": "empty", "scope": "corpus"}, {"name": "content", "span": "x"}]
)
def test_wrong_settings_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="faults"):
        HopFault(**wrong)  # type: ignore[arg-type]

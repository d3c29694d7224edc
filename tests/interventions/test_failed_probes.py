from faultline.errors import Missing
from faultline.interventions.probe import Probe, ProbeResult
from faultline.interventions.store import InterventionStore
from faultline.store import AppendStore


def result(missing):
    return ProbeResult(None if missing else "x", missing, 7, 1, 1, ("q",), ("n",), (("p",),), 1.0)


def test_a_timeout_is_counted_and_asked_again_by_the_next_run(tmp_path):
    path = tmp_path / "i.jsonl"
    probe = Probe("placebo", 0)
    with InterventionStore(AppendStore(path)).opened() as store:
        ask = store.lookup("t", lambda p: result(Missing.TIMEOUT))
        assert ask(probe).missing is Missing.TIMEOUT
        ask(probe)
        assert (store.asked, store.failed) == (1, {"timeout": 1})
    with InterventionStore(AppendStore(path)).opened() as store:
        assert store.lookup("t", lambda p: result(None))(probe).answer == "x"
        assert store.failed == {}


def test_what_a_model_said_is_kept_and_no_span_is_no_failure(tmp_path):
    path = tmp_path / "i.jsonl"
    with InterventionStore(AppendStore(path)).opened() as store:
        ask = store.lookup("t", lambda p: result(Missing.REFUSED if p.hop == 1 else Missing.NO_SPAN))
        ask(Probe("freeze", 1))
        ask(Probe("freeze", 2))
        assert (store.asked, store.failed) == (2, {"refused": 1})

    def never(probe):
        raise AssertionError("asked again")

    with InterventionStore(AppendStore(path)).opened() as store:
        assert store.lookup("t", never)(Probe("freeze", 1)).missing is Missing.REFUSED

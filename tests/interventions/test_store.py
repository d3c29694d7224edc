from __future__ import annotations

from pathlib import Path

from faultline.interventions.probe import Probe, ProbeResult
from faultline.interventions.store import InterventionStore
from faultline.store import AppendStore


def test_each_probe_is_carried_out_once_even_by_a_second_process(tmp_path: Path) -> None:
    calls: list[str] = []

    def act(probe: Probe) -> ProbeResult:
        calls.append(probe.id)
        return ProbeResult("a", None, 7, 2, 1, ("q", "r"), ("x", None), (("p",), ()), 0.5)

    path = tmp_path / "probes.jsonl"
    asked = [Probe("repair", 1), Probe("repair", 1, sample=2), Probe("repair", 1), Probe("placebo", 0)]
    for _ in range(2):
        with InterventionStore(AppendStore(path)).opened() as store:
            results = [store.lookup("trace", act)(probe) for probe in asked]
            assert len({id(r) for r in results}) <= 3 and results[0].passages == (("p",), ())
            assert results[0].notes == ("x", None)
    assert calls == ["repair/1/working/1", "repair/1/working/2", "placebo/0/working/1"]


def test_what_was_done_before_an_error_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "probes.jsonl"

    def act(probe: Probe) -> ProbeResult:
        if probe.hop == 2:
            raise RuntimeError("lost")
        return ProbeResult(None, None, 0, 0, 0, (), (), (), 0.0)

    try:
        with InterventionStore(AppendStore(path)).opened() as store:
            ask = store.lookup("t", act)
            ask(Probe("repair", 1))
            ask(Probe("repair", 2))
    except RuntimeError:
        pass
    assert AppendStore(path).ids() == {"t|repair/1/working/1"}

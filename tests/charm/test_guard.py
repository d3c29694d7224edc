"""The live guard decides what the batch decides."""

import asyncio
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from faultline.charm.calibration_file import Calibration, Fitted, save
from faultline.charm.decide import CharmSettings, decide
from faultline.charm.guard import Guard, GuardOptions, calibrated
from faultline.charm.guard_models import Models
from faultline.charm.routing import RoutingSettings
from faultline.charm.scoring import assemble, consensus_anchors, requests
from faultline.charm.sfv import SfvSettings
from faultline.charm.verdict import verdict_at
from faultline.errors import DataError, ModelError
from faultline.records import Hit, Passage, Stage, Trajectory
from tests.charm.cases import random_scores

PASSAGES = tuple(
    Passage(f"p{i}", f"Town {i}", (f"Town {i} was founded by Mira Tolk in {1900 + i}.", " It has a mill."))
    for i in range(4)
)
HITS = tuple(Hit(passage, 1.0 - i / 10, i + 1) for i, passage in enumerate(PASSAGES))


class Words:
    """A verifier and an embedder by shared words: real numbers, no weights."""

    digest = "words"

    def __init__(self):
        self.calls: list[int] = []

    def verify(self, pairs):
        self.calls.append(len(pairs))
        rows = []
        for premise, claim in pairs:
            a, b = set(premise.lower().split()), set(claim.lower().split())
            e = len(a & b) / (len(b) + 1)
            rows.append((e, (1 - e) * 0.75, (1 - e) * 0.25))
        return np.array(rows).reshape(-1, 3)

    def encode(self, texts):
        rows = np.zeros((len(texts), 32), dtype=np.float32)
        for i, text in enumerate(texts):
            for word in text.lower().split():
                rows[i, sum(word.encode()) % 32] += 1
            rows[i] /= np.linalg.norm(rows[i])
        return rows


def trajectory(confidences=(None,) * 5) -> Trajectory:
    texts = [
        PASSAGES[0].rendered,
        "Town 0 was founded by Mira Tolk.",
        "Next: where was Mira Tolk born?",
        "",
        "Paris was certainly the birth place of everybody here.",
    ]
    kinds = ("retrieval", "reasoning", "reasoning", "tool_call", "synthesis")
    stages = tuple(
        Stage(
            i,
            kind,
            text,
            hits=HITS if i == 1 else (),
            confidence=c,
            confidence_source="none" if c is None else "logprobs",
        )
        for i, (kind, text, c) in enumerate(zip(kinds, texts, confidences, strict=True), 1)
    )
    return Trajectory("t", "d", "t", "clean", 0, "?", stages, None, "x")


def batch(t: Trajectory, words: Words, options: GuardOptions):
    asked = requests([t], consensus_anchors([t], options.consensus_k, options.consensus, words.encode))
    return assemble([t], asked, words.verify(asked.pairs), words.encode(asked.texts), options.confidence)


@pytest.mark.parametrize("seed", range(4))
def test_same_scores_give_the_same_bits(seed):
    scores = random_scores(seed, 40)
    settings = CharmSettings(routing=RoutingSettings(gate=0.5), sfv=SfvSettings("both", "deficit"))
    whole = decide(scores, settings)
    for row in range(scores.n):
        for stage in range(1, scores.stages + 1):
            # A live backbone says whether it states confidences; the batch knows it from the whole row.
            got = verdict_at(scores[row : row + 1].until(stage), settings)
            want = whole.p[row, stage - 1]
            assert (got.score is None and np.isnan(want)) or got.score == want
            for k, name in enumerate(("sfv", "csct", "cpm")):
                value = whole.signals[row, stage - 1, k]
                assert (got.signals[name] is None and np.isnan(value)) or got.signals[name] == value
            assert got.flagged == whole.flagged[row, stage - 1]
            if whole.first[row] == stage:
                expected = (whole.cascade_type[row], whole.route[row], whole.human[row], whole.action[row])
                assert (got.cascade_type, got.route, got.human, got.action) == expected
            assert got.first == (whole.first[row] if 0 < whole.first[row] <= stage else 0)


@pytest.mark.parametrize("anchor", ["both", "top1", "consensus"])
@pytest.mark.parametrize("consensus", ["concat", "centroid_sentences", "others"])
@pytest.mark.parametrize("sure", [(None,) * 5, (0.9, 0.5, None, 0.6, 0.99)])
def test_observing_is_the_batch(anchor, consensus, sure):
    t, words = trajectory(sure), Words()
    options = GuardOptions(CharmSettings(sfv=SfvSettings(anchor=anchor)), consensus, states_confidence=None)
    options = replace(options, states_confidence=sure[0] is not None)
    whole = decide(batch(t, words, options), options.settings)
    guard = Guard(Models(words, words), options, "t")
    for stage in t.stages:
        verdict = guard.observe(stage)
        p = whole.p[0, stage.index - 1]
        assert (verdict.score is None and np.isnan(p)) or verdict.score == p
        assert verdict.flagged == whole.flagged[0, stage.index - 1]
    assert verdict.evidence.claim == t.stages[-1].text
    assert verdict.evidence.passage
    assert guard.observe(replace(t.stages[1], index=6)).fallback == (sure[0] is None)


def test_one_stage_asks_only_for_itself():
    words = Words()
    guard = Guard(Models(words, words))
    for stage in trajectory().stages:
        guard.observe(stage)
    assert words.calls == [1, 2, 2, 2]  # the stage without a text asks for nothing


def test_a_guard_goes_on_from_its_dump():
    words = Words()
    guard, t = Guard(Models(words, words), trajectory="t"), trajectory()
    for stage in t.stages[:3]:
        guard.observe(stage)
    other = guard.load(guard.dump())
    words.calls.clear()
    for stage in t.stages[3:]:
        assert guard.observe(stage) == other.observe(stage)
    assert words.calls == [2, 2]
    assert guard.dump() == other.dump()


def test_a_dump_of_other_models_is_refused():
    words, strange = Words(), Words()
    strange.digest = "other"
    dump = Guard(Models(words, words)).dump()
    with pytest.raises(DataError, match="use the same models"):
        Guard(Models(strange, words)).load(dump)
    for broken in (b"", b"{}", b"[1]", b'{"version": 1}'):
        with pytest.raises(DataError, match="guard state"):
            Guard(Models(words, words)).load(broken)


def test_the_wrong_stage_changes_nothing():
    guard, t = Guard(Models(Words(), Words()), trajectory="t"), trajectory()
    with pytest.raises(DataError, match="stage 2 came, 1 is the next"):
        guard.observe(t.stages[1])
    guard.observe(t.stages[0])
    with pytest.raises(DataError, match="no stage 4"):
        guard.rollback(4)
    assert len(guard.stages) == 1


def test_a_failed_model_changes_nothing():
    class Broken(Words):
        def verify(self, pairs):
            raise RuntimeError("out of memory")

    guard = Guard(Models(Broken(), Words()))
    with pytest.raises(RuntimeError):
        guard.observe(trajectory().stages[0])
    assert guard.stages == ()


def test_rollback_forgets_and_gives_the_same_verdict_again():
    guard, t = Guard(Models(Words(), Words())), trajectory()
    verdicts = [guard.observe(stage) for stage in t.stages]
    guard.rollback(2)
    assert [guard.observe(stage) for stage in t.stages[2:]] == verdicts[2:]
    guard.rollback(0)
    assert [guard.observe(stage) for stage in t.stages] == verdicts


def test_a_skipped_stage_has_no_score_and_still_anchors():
    guard, t = Guard(Models(Words(), Words())), trajectory()
    guard.skip(t.stages[0])
    verdict = guard.observe(t.stages[1])
    scores = guard.scores()
    assert np.isnan(scores.consensus[0, 0]).all()
    assert np.isnan(scores.similarity_previous[0, 1])
    assert not np.isnan(scores.top1[0, 1]).any()
    assert verdict.signals["csct"] is None


def test_last_clean_stage():
    guard = Guard(Models(Words(), Words()))
    for i, text in enumerate(["a b c d", "a b c d", "x y z w", "q r s t"], 1):
        guard.observe(Stage(i, "reasoning", text))
    assert guard.last_clean() == 2


def test_many_threads_many_trajectories():
    models = Models(Words(), Words())
    first = Guard(models)
    alone = [first.observe(stage) for stage in trajectory().stages]
    found = []

    def watch(name):
        guard = first.open(name)
        found.append([guard.observe(stage) for stage in trajectory().stages])

    threads = [threading.Thread(target=watch, args=(str(i),)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 16


def test_asynchronous_is_synchronous():
    async def run():
        guard = Guard(Models(Words(), Words()))
        return [await guard.aobserve(stage) for stage in trajectory().stages]

    guard = Guard(Models(Words(), Words()))
    assert asyncio.run(run()) == [guard.observe(stage) for stage in trajectory().stages]


@pytest.mark.slow
def test_the_embedded_guard_needs_no_hydra_lightning_or_wandb():
    code = (
        "import sys; from faultline.charm import Guard; from faultline.records import Stage, Hit, Passage;"
        "p = Passage('a', 'T', ('Arvenholm was founded by Mira Tolk.',));"
        "g = Guard(); v = g.observe(Stage(1, 'retrieval', p.rendered, hits=(Hit(p, 1.0, 1),)));"
        "assert v.score is not None;"
        "heavy = ('hydra', 'omegaconf', 'lightning', 'pytorch_lightning', 'wandb');"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.slow
def test_scores_agree_with_the_batch_within_a_hundred_thousandth():
    from faultline.charm.guard_models import embedded

    models, t = embedded(), trajectory()
    asked = requests([t], consensus_anchors([t]))
    probabilities, rows = models.score(asked.pairs, asked.texts)
    whole = assemble([t], asked, probabilities, rows)
    guard = Guard(models)
    for stage in t.stages:
        guard.observe(stage)
    live = guard.scores()
    for name in ("top1", "consensus", "similarity_previous", "similarity_first", "similarity_mean"):
        np.testing.assert_allclose(getattr(live, name), getattr(whole, name), atol=1e-5)


def fitted_file(path, nli="a" * 64, embedder="b" * 64):
    origin = Fitted(("d",), "train", ("c" * 64,), ("x",), 1, 1, "n", nli, "e", embedder, "reader", "f1")
    save(Calibration.of(CharmSettings(sfv=SfvSettings(tau=0.5)), origin), path)
    return path


def test_fitted_thresholds_fit_their_models_only(tmp_path):
    verifier, embedder = Words(), Words()
    verifier.digest, embedder.digest = "a" * 12, "b" * 12
    models = Models(verifier, embedder)
    base = GuardOptions(CharmSettings(routing=RoutingSettings(gate=0.3)), consensus_k=2)
    got = calibrated(fitted_file(tmp_path / "good.json"), models, base)
    assert (got.settings.sfv.tau, got.settings.routing.gate, got.consensus_k) == (0.5, 0.3, 2)
    for wrong in ({"nli": "d" * 64}, {"embedder": "d" * 64}):
        with pytest.raises(ModelError, match="charm_calibrate"):
            calibrated(fitted_file(tmp_path / "wrong.json", **wrong), models)
    with pytest.raises(DataError, match="cannot be read"):
        calibrated(tmp_path / "none.json", models)


def test_the_first_passage_is_no_witness_for_itself():
    (anchor,) = consensus_anchors([trajectory()], 2, "others")
    assert anchor == f"{PASSAGES[1].rendered} {PASSAGES[2].rendered}"


def test_another_precision_is_another_model():
    exact, fast = Models(Words(), Words()), Models(Words(), Words(), "int8")
    assert exact.digests == {"nli": "words", "embedder": "words"}
    assert fast.digests == {**exact.digests, "precision": "int8"}
    begun = Guard(exact)
    begun.observe(trajectory().stages[0])
    assert len(Guard(exact).load(begun.dump()).stages) == 1
    with pytest.raises(DataError, match="int8"):
        Guard(fast).load(begun.dump())

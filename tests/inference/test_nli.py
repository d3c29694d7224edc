from __future__ import annotations

import random
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import softmax as scipy_softmax
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from faultline.errors import ConfigError, DataError, ModelError
from faultline.inference.cache import ScoreCache
from faultline.inference.checkpoints import load_classifier
from faultline.inference.nli import NliScorer, softmax
from faultline.inference.windows import WindowRule, pair_windows
from tests.inference import tiny

RULE = WindowRule(size=20, stride=10, min_premise=8)


def text(rng, words):
    return " ".join(rng.choice(tiny.WORDS) for _ in range(words))


def some_pairs(count=30, seed=3):
    rng = random.Random(seed)
    pairs = [
        (text(rng, rng.choice([1, 5, 12, 40])), text(rng, rng.choice([1, 4, 11, 50]))) for _ in range(count)
    ]
    return [*pairs, *pairs[:5]]


@pytest.fixture(scope="module", params=["bert", "deberta-v2"])
def folder(request, tmp_path_factory):
    return tiny.save(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def loaded(folder):
    return load_classifier(tiny.resolved(folder))


@contextmanager
def forwards(loaded):
    """The shapes of the forward passes made meanwhile."""
    shapes = []
    handle = loaded.model.register_forward_hook(lambda module, inputs, output: shapes.append(output.shape))
    yield shapes
    handle.remove()


def literal(folder, pairs):
    """One window at a time through transformers, min of max as a double loop over decoded words."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    columns = [tiny.LABEL2ID[name] for name in ("ENTAILMENT", "Neutral", "contradiction")]
    scores = []
    for premise, claim in pairs:
        left, right = premise.split(), claim.split()
        cut = pair_windows(len(left), len(right), 32, 3, RULE)
        worst = None
        for h_start, h_end in cut.hypothesis:
            best = None
            for p_start, p_end in cut.premise:
                inputs = tokenizer(
                    " ".join(left[p_start:p_end]), " ".join(right[h_start:h_end]), return_tensors="pt"
                )
                assert inputs["input_ids"].shape[1] <= 32
                with torch.no_grad():
                    row = torch.softmax(model(**inputs).logits[0].double(), -1).numpy()[columns]
                best = row if best is None or row[0] > best[0] else best
            worst = best if worst is None or best[0] < worst[0] else worst
        scores.append(worst)
    return np.array(scores)


def test_same_scores_as_one_pair_at_a_time(folder, loaded):
    pairs = some_pairs()
    scores = NliScorer(loaded, token_budget=200, rule=RULE).score(pairs)
    expected = literal(folder, pairs)
    assert np.ptp(expected[:, 0]) > 0.2
    np.testing.assert_allclose(scores.probs, expected, atol=1e-5)
    np.testing.assert_allclose(scores.probs.sum(1), 1)
    assert scores.windows.max() > 4
    assert scores.windows.min() == 1
    assert scores.tokens.tolist() == [len(f"{premise} {claim}".split()) + 3 for premise, claim in pairs]
    assert not scores.truncated.any()
    assert scores.activation == "softmax"


def test_order_repeats_and_company_do_not_matter(loaded):
    pairs = some_pairs()
    scorer = NliScorer(loaded, token_budget=200, rule=RULE)
    scores = scorer.score(pairs)
    order = np.random.default_rng(0).permutation(len(pairs))
    shuffled = scorer.score([pairs[row] for row in order])
    assert shuffled.plan_id == scores.plan_id
    np.testing.assert_array_equal(shuffled.probs, scores.probs[order])
    # Another company is another batch shape: equal to rounding.
    np.testing.assert_allclose(scorer.score(pairs[:3]).probs, scores.probs[:3], atol=1e-5)


def test_an_end_that_contradicts_is_not_cut_off(loaded):
    rng = random.Random(1)
    claim = text(rng, 60)
    scorer = NliScorer(loaded, rule=RULE)
    changed = scorer.verify([("w1 w2", claim), ("w1 w2", claim.rsplit(" ", 1)[0] + " w59")])
    assert scorer.score([("w1 w2", claim)]).truncated[0] == 0
    prepared = scorer.prepare([("w1 w2", claim)])
    seen = {int(token) for ids in prepared.job.ids for token in ids}
    assert set(loaded.tokenizer(claim)["input_ids"]) <= seen
    assert changed.shape == (2, 3)


def test_no_pairs_and_no_claim(loaded):
    scorer = NliScorer(loaded)
    assert scorer.verify([]).shape == (0, 3)
    assert scorer.verify([("", "w1")]).shape == (1, 3)
    with pytest.raises(DataError, match="pair 1: the hypothesis has no token"):
        scorer.score([("w1", "w1"), ("w2", "  ")])


def test_cached_scores_are_the_same_bits_and_cost_no_forward(loaded, tmp_path):
    pairs = some_pairs()
    plain = NliScorer(loaded, token_budget=200, rule=RULE).score(pairs)
    cache = ScoreCache(tmp_path / "scores.sqlite")
    steps = []
    first = NliScorer(loaded, token_budget=200, rule=RULE, cache=cache)
    first_scores = first.score(pairs, progress=lambda done, total: steps.append((done, total)))
    assert steps[-1][0] == steps[-1][1]
    assert len(steps) > 3
    second = NliScorer(loaded, token_budget=200, rule=RULE, cache=tmp_path / "scores.sqlite")
    with forwards(loaded) as count:
        second_scores = second.score(pairs)
    assert not count
    for scores in (first_scores, second_scores):
        np.testing.assert_array_equal(scores.probs, plain.probs)


RESUME = """
import os, sys
sys.path.insert(0, sys.argv[3])
import test_nli, tiny
from faultline.inference.checkpoints import load_classifier
from faultline.inference.nli import NliScorer
from pathlib import Path
loaded = load_classifier(tiny.resolved(Path(sys.argv[1])))
scorer = NliScorer(loaded, token_budget=200, rule=test_nli.RULE, cache=sys.argv[2])
def die(done, total):
    if done > total / 2:
        os.kill(os.getpid(), 9)
scorer.score(test_nli.some_pairs(), progress=die)
"""


def test_a_killed_run_resumes_with_the_same_bits(folder, loaded, tmp_path):
    path = tmp_path / "scores.sqlite"
    here = str(Path(__file__).parent)
    killed = subprocess.run([sys.executable, "-c", RESUME, str(folder), str(path), here], check=False)
    assert killed.returncode == -signal.SIGKILL
    scorer = NliScorer(loaded, token_budget=200, rule=RULE, cache=path)
    with forwards(loaded) as count:
        resumed = scorer.score(some_pairs())
    plain = NliScorer(loaded, token_budget=200, rule=RULE).score(some_pairs())
    assert 0 < len(count) < len(scorer.prepare(some_pairs()).job.plan.batches)
    np.testing.assert_array_equal(resumed.probs, plain.probs)


def test_precision_and_weights_are_apart_in_the_cache(loaded, tmp_path):
    spaces = {
        NliScorer(loaded, precision=name).prepare([("w1", "w2")]).job.namespace
        for name in ("fp32", "bf16", "bf16-true")
    }
    assert len(spaces) == 3
    assert all(f"/{loaded.digest}/" in space for space in spaces)


@pytest.mark.parametrize("precision", ["bf16", "bf16-true"])
def test_bf16_is_near_and_leaves_the_weights_alone(loaded, precision):
    pairs = some_pairs()
    before = {name: value.clone() for name, value in loaded.model.state_dict().items()}
    full = NliScorer(loaded, rule=RULE).verify(pairs)
    half = NliScorer(loaded, precision=precision, rule=RULE).verify(pairs)
    assert 0 < np.abs(half - full).max() < 0.2
    assert all(torch.equal(value, before[name]) for name, value in loaded.model.state_dict().items())


def test_unknown_precision(loaded):
    with pytest.raises(ConfigError, match="fp16"):
        NliScorer(loaded, precision="fp16")


class _Spoiled(torch.nn.Module):
    """Gives NaN for inputs that hold a token, always or only outside fp32."""

    def __init__(self, model, token, always):
        super().__init__()
        self.model, self.token, self.always = model, token, always

    def forward(self, ids, mask, types=None):
        logits = self.model(ids, mask, types)
        if self.always or torch.is_autocast_enabled("cpu"):
            logits = torch.where((ids == self.token).any(1, keepdim=True), torch.nan, logits)
        return logits


def spoiled(loaded, always):
    token = loaded.tokenizer.convert_tokens_to_ids("w7")
    return type(loaded)(
        _Spoiled(loaded.model, token, always),
        loaded.tokenizer,
        loaded.label2id,
        loaded.max_tokens,
        loaded.digest,
        loaded.name,
    )


def test_rows_that_overflow_are_computed_again_in_fp32(loaded):
    pairs = [("w1 w2", "w3"), ("w1 w7", "w3"), ("w4", "w5")]
    scorer = NliScorer(spoiled(loaded, always=False), precision="bf16")
    probs = scorer.verify(pairs)
    assert scorer._forward.reruns == 1
    np.testing.assert_allclose(probs[1], NliScorer(loaded).verify(pairs)[1], atol=1e-6)
    np.testing.assert_array_equal(probs[[0, 2]], NliScorer(loaded, precision="bf16").verify(pairs)[[0, 2]])


def test_a_score_that_is_not_finite_names_the_pair(loaded):
    with pytest.raises(ModelError, match=r"pair 2 .*not finite in fp32"):
        NliScorer(spoiled(loaded, always=True)).score([("w1", "w2"), ("w3", "w4"), ("w7", "w1")])


def test_softmax_agrees_with_scipy():
    logits = np.random.default_rng(0).normal(0, 300, (50, 3))
    np.testing.assert_allclose(softmax(logits), scipy_softmax(logits, axis=1), atol=1e-15)


def test_what_its_products_depend_on_is_public(loaded):
    from faultline.records import Verifier, describe

    scorer: Verifier = NliScorer(loaded)
    stated = describe(scorer)
    assert stated["digest"] == loaded.digest[:12]
    assert set(stated) == {"class", "version", "name", "digest", "precision", "token_budget", "rule"}

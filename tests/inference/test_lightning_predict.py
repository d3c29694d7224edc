from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from faultline.errors import ConfigError
from faultline.inference.checkpoints import LoadedEmbedder, load_classifier
from faultline.inference.embed import EmbeddingScorer
from faultline.inference.lightning_predict import through
from faultline.inference.nli import NliScorer
from tests.inference import tiny
from tests.inference.test_nli import RULE, some_pairs

lightning = pytest.importorskip("lightning")

PRECISIONS = {"fp32": "32-true", "bf16": "bf16-mixed", "bf16-true": "bf16-true"}


def trainer(**settings):
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    return lightning.Trainer(
        **{"accelerator": "cpu", "devices": 1, "enable_model_summary": False, **quiet, **settings}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.save(tmp_path_factory.mktemp("deberta"), "deberta-v2")


@pytest.fixture(scope="module")
def loaded(folder):
    return load_classifier(tiny.resolved(folder))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_same_bits_as_plain_scoring(loaded, precision):
    pairs = some_pairs()
    scorer = NliScorer(loaded, precision=precision, token_budget=200, rule=RULE)
    plain = scorer.score(pairs)
    lit = through(NliScorer(loaded, token_budget=200, rule=RULE), trainer(precision=PRECISIONS[precision]))
    assert lit.precision == precision
    steps = []
    scores = lit.score(pairs, lambda *done: steps.append(done))
    np.testing.assert_array_equal(scores.probs, plain.probs)
    assert scores.plan_id == plain.plan_id
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1]
    # The weights that the caller holds are untouched, and both paths go on working.
    assert {value.dtype for value in loaded.model.parameters()} == {torch.float32}
    np.testing.assert_array_equal(scorer.verify(pairs), plain.probs)
    np.testing.assert_array_equal(lit.verify(pairs), plain.probs)


def test_both_paths_share_the_cache(loaded, tmp_path):
    pairs = some_pairs()
    scorer = NliScorer(loaded, token_budget=200, rule=RULE, cache=tmp_path / "scores.sqlite")
    lit = through(scorer, trainer())
    expected = lit.verify(pairs)
    calls = []
    handle = loaded.model.register_forward_hook(lambda *_: calls.append(1))
    np.testing.assert_array_equal(scorer.verify(pairs), expected)
    np.testing.assert_array_equal(lit.verify(pairs), expected)
    handle.remove()
    assert not calls


class _Bag(torch.nn.Module):
    """The mean of word vectors."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.table = torch.nn.Embedding(64, 8)

    def forward(self, ids, mask, types=None):
        return (self.table(ids) * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)


def test_embeddings_too():
    embedder = LoadedEmbedder(_Bag().eval(), tiny.tokenizer(32), 8, 10, "d" * 64, "bag")
    texts = [pair[0] for pair in some_pairs()]
    scorer = EmbeddingScorer(embedder, token_budget=50)
    np.testing.assert_array_equal(through(scorer, trainer()).encode(texts), scorer.encode(texts))


def test_the_trainer_keeps_nothing_and_says_nothing(loaded, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lit_trainer = trainer()
    lit = through(NliScorer(loaded, token_budget=60, rule=RULE), lit_trainer)
    capfd.readouterr()
    lit.verify(some_pairs())
    assert lit_trainer.predict_loop.predictions == []
    assert not any(lit_trainer.predict_loop.epoch_batch_indices)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_a_trainer_that_stops_early_is_an_error(loaded):
    lit = through(NliScorer(loaded, token_budget=60, rule=RULE), trainer(limit_predict_batches=1))
    with pytest.raises(ConfigError, match=r"left \d+ of \d+ batches"):
        lit.verify(some_pairs())


def test_fp16_is_refused(loaded):
    other = trainer()
    other.strategy.precision_plugin.precision = "16-mixed"
    with pytest.raises(ConfigError, match="16-mixed"):
        through(NliScorer(loaded), other)


TWO = """
import sys
sys.path.insert(0, sys.argv[3])
from pathlib import Path
import numpy as np
from tests.inference import test_lightning_predict, test_nli, tiny
from faultline.errors import ConfigError
from faultline.inference.checkpoints import load_classifier
from faultline.inference.lightning_predict import through
from faultline.inference.nli import NliScorer
loaded = load_classifier(tiny.resolved(Path(sys.argv[1])))
trainer = test_lightning_predict.trainer(devices=2, strategy="ddp_fork")
scorer = NliScorer(loaded, token_budget=200, rule=test_nli.RULE, cache=sys.argv[2] + "/scores.sqlite")
np.save(sys.argv[2] + "/probs.npy", through(scorer, trainer).verify(test_nli.some_pairs()))
try:
    through(NliScorer(loaded), trainer).verify([("w1", "w2")])
except ConfigError as error:
    assert "need a score cache" in str(error)
    sys.exit(7)
"""


@pytest.mark.slow
def test_two_processes_meet_in_the_cache(folder, loaded, tmp_path):
    here = str(Path(__file__).parents[2])
    run = subprocess.run(
        [sys.executable, "-c", TWO, str(folder), str(tmp_path), here],
        check=False,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 7, run.stderr
    expected = NliScorer(loaded, token_budget=200, rule=RULE).verify(some_pairs())
    np.testing.assert_allclose(np.load(tmp_path / "probs.npy"), expected, atol=1e-6)

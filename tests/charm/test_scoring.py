"""What CHARM asks the models, and how their answers become scores: against literal loops."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultline.agents.five_stage import FiveStage
from faultline.charm.scoring import CENTROID_SENTENCES, assemble, consensus_anchors, requests
from faultline.errors import ConfigError
from faultline.policies.reader import ReaderSettings
from faultline.records import Hit, Passage, Stage, Trajectory
from faultline.retrieval.bm25 import Bm25
from faultline.retrieval.environment import Environments


def number(*parts):
    """A number in (0, 1) that depends on texts alone."""
    digest = hashlib.sha256("\x1f".join(parts).encode()).digest()
    return (int.from_bytes(digest[:6], "big") + 1) / (2**48 + 2)


def triple(premise, hypothesis):
    """Three probabilities of a pair."""
    raw = [number(label, premise, hypothesis) for label in "enc"]
    return [value / sum(raw) for value in raw]


def vector(text, size=6):
    """A unit row of a text."""
    row = np.array([number(str(i), text) - 0.5 for i in range(size)])
    return (row / np.linalg.norm(row)).astype(np.float32)


def encode(texts):
    return np.stack([vector(text) for text in texts])


def trajectory(texts, name="t", passages=(), confidences=()):
    hits = tuple(Hit(p, 1.0, rank) for rank, p in enumerate(passages, start=1))
    stages = []
    for index, text in enumerate(texts, start=1):
        value, source = confidences[index - 1] if index <= len(confidences) else (None, "none")
        kind = "retrieval" if index == 1 else "reasoning"
        stage = Stage(index, kind, text, confidence=value, confidence_source=source)
        stages.append(replace(stage, hits=hits) if index == 1 else stage)
    return Trajectory(name, "d", name, "clean", 0, "q", tuple(stages), None, "rote")


def scored(trajectories, anchors, confidence="logprobs"):
    asked = requests(trajectories, anchors)
    probabilities = np.array([triple(*pair) for pair in asked.pairs]).reshape(-1, 3)
    embeddings = encode(asked.texts) if asked.texts else np.empty((0, 6), np.float32)
    return assemble(trajectories, asked, probabilities, embeddings, confidence)


def cosine(a, b):
    return float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))


def literal(trajectories, anchors):
    """Every score, one trajectory, stage and anchor at a time."""
    n, width = len(trajectories), max((len(t.stages) for t in trajectories), default=0)
    names = ("top1", "consensus", "previous")
    out = {name: np.full((n, width, 3), np.nan) for name in names}
    out |= {name: np.full((n, width), np.nan) for name in ("s_previous", "s_first", "s_mean")}
    present = np.zeros((n, width), dtype=bool)
    for i, one in enumerate(trajectories):
        texts = [stage.text for stage in one.stages]
        for j, text in enumerate(texts):
            if not text.strip():
                continue
            present[i, j] = True
            for name in names:
                if name != "consensus" and j == 0:
                    continue
                premise = {"top1": texts[0], "consensus": anchors[i], "previous": texts[max(j - 1, 0)]}[name]
                if premise.strip():
                    out[name][i, j] = triple(premise, text)
            earlier = [vector(t).astype(float) for t in texts[:j] if t.strip()]
            mine = vector(text).astype(float)
            if earlier:
                out["s_mean"][i, j] = cosine(np.mean(earlier, axis=0), mine)
            if j > 0 and texts[0].strip():
                out["s_first"][i, j] = cosine(vector(texts[0]).astype(float), mine)
            if j > 0 and texts[j - 1].strip():
                out["s_previous"][i, j] = cosine(vector(texts[j - 1]).astype(float), mine)
    return present, out


words = st.sampled_from(["", " ", "a", "b b", "Ada Quill.", "born in Tarnwick", "é"])
batches = st.lists(st.tuples(st.lists(words, min_size=1, max_size=5), words), max_size=4)


@settings(deadline=None, max_examples=80)
@given(batches)
def test_scores_are_those_of_a_triple_loop(batch):
    trajectories = [trajectory(texts, str(i)) for i, (texts, _) in enumerate(batch)]
    anchors = [anchor for _, anchor in batch]
    found = scored(trajectories, anchors)
    present, wanted = literal(trajectories, anchors)
    np.testing.assert_array_equal(found.present, present)
    np.testing.assert_allclose(found.top1, wanted["top1"], atol=1e-12)
    np.testing.assert_allclose(found.consensus, wanted["consensus"], atol=1e-12)
    np.testing.assert_allclose(found.entailment_previous, wanted["previous"][..., 0], atol=1e-12)
    np.testing.assert_allclose(found.similarity_previous, wanted["s_previous"], atol=1e-6)
    np.testing.assert_allclose(found.similarity_first, wanted["s_first"], atol=1e-6)
    np.testing.assert_allclose(found.similarity_mean, wanted["s_mean"], atol=1e-6)


@settings(deadline=None, max_examples=40)
@given(batches)
def test_a_batch_scores_as_its_rows_do(batch):
    trajectories = [trajectory([*texts, "", "", "", ""][:5], str(i)) for i, (texts, _) in enumerate(batch)]
    anchors = [anchor for _, anchor in batch]
    whole = scored(trajectories, anchors)
    for row, (one, anchor) in enumerate(zip(trajectories, anchors, strict=True)):
        alone = scored([one], [anchor])
        for name in ("top1", "consensus", "similarity_previous", "similarity_mean", "confidence"):
            np.testing.assert_array_equal(getattr(whole, name)[row], getattr(alone, name)[0])


def test_what_is_asked_by_hand():
    asked = requests([trajectory(["A", "B", "", "D"])], ["C"])
    assert asked.shape == (1, 4) and asked.texts == ["A", "B", "D"]
    assert asked.text_places == [(0, 0), (0, 1), (0, 3)]
    assert list(zip(asked.pairs, asked.places, strict=True)) == [
        (("C", "A"), ("consensus", 0, 0)),
        (("C", "B"), ("consensus", 0, 1)),
        (("A", "B"), ("top1", 0, 1)),
        (("A", "B"), ("previous", 0, 1)),
        (("C", "D"), ("consensus", 0, 3)),
        (("A", "D"), ("top1", 0, 3)),
    ]


def test_nothing_gives_nothing():
    asked = requests([], [])
    assert asked.shape == (0, 0) and asked.pairs == []
    assert scored([], []).n == 0


def test_anchors_and_trajectories_must_be_as_many():
    with pytest.raises(ValueError):
        requests([trajectory(["A"])], [])


def test_probabilities_of_a_float32_softmax_are_made_to_sum_to_one():
    asked = requests([trajectory(["A", "B"])], ["C"])
    raw = np.array([[0.7, 0.2, 0.1]] * len(asked.pairs), dtype=np.float32) * np.float32(1 + 1e-6)
    found = assemble([trajectory(["A", "B"])], asked, raw, encode(asked.texts))
    np.testing.assert_allclose(found.consensus.sum(axis=-1), 1.0, atol=1e-15)


@pytest.mark.parametrize(
    ("which", "wanted"), [("logprobs", [0.8, np.nan, np.nan, np.nan]), ("stated", [0.8, 0.6, np.nan, np.nan])]
)
def test_which_confidences_count(which, wanted):
    told = [(0.8, "logprobs"), (0.6, "stated"), (None, "none"), (0.9, "stated")]
    found = scored([trajectory(["A", "B", "C", ""], confidences=told)], ["X"], which)
    np.testing.assert_array_equal(found.confidence, [wanted])


def test_a_confidence_of_another_kind_is_refused():
    with pytest.raises(ConfigError, match=r"charm\.confidence='guess' is unknown"):
        scored([], [], "guess")


# The consensus anchor
P = [Passage(f"p{i}", f"T{i}", (f"First of {i}.", "", f" Second of {i}.")) for i in range(4)]


def test_concat_is_the_top_k_passages_one_after_the_other():
    ones = [trajectory(["A"], passages=P), trajectory(["A"], passages=P[:1]), trajectory(["A"])]
    assert consensus_anchors(ones, 2) == [
        "T0: First of 0. Second of 0. T1: First of 1. Second of 1.",
        "T0: First of 0. Second of 0.",
        "",
    ]
    assert consensus_anchors(ones, 3)[0].count("First of") == 3


def literal_centroid(passages, k):
    sentences = [s.strip() for p in passages[:k] for s in p.sentences if s.strip()]
    rows = [vector(s).astype(float) for s in sentences]
    mean = sum(rows) / len(rows)
    near = sorted(range(len(rows)), key=lambda i: (-float(rows[i] @ mean), i))[:CENTROID_SENTENCES]
    return " ".join(sentences[i] for i in sorted(near))


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_centroid_sentences_against_a_loop(k):
    one = trajectory(["A"], passages=P)
    (found,) = consensus_anchors([one], k, "centroid_sentences", encode)
    assert found == literal_centroid(P, k)
    assert found.count("of") == min(2 * k, CENTROID_SENTENCES)


def test_centroid_of_several_trajectories_and_of_none():
    ones = [trajectory(["A"], passages=P[:2]), trajectory(["A"]), trajectory(["A"], passages=P[1:])]
    found = consensus_anchors(ones, 3, "centroid_sentences", encode)
    assert found == [literal_centroid(P[:2], 3), "", literal_centroid(P[1:], 3)]


def test_centroid_without_any_sentence_asks_for_nothing():
    def never(texts):
        assert texts, "an embedder is not asked for nothing"
        return encode(texts)

    assert consensus_anchors([trajectory(["A"])], 3, "centroid_sentences", never) == [""]


def test_centroid_without_an_embedder_is_not_silently_something_else():
    with pytest.raises(ConfigError, match="centroid_sentences"):
        consensus_anchors([trajectory(["A"], passages=P)], 3, "centroid_sentences")


def test_an_anchor_of_another_kind_is_refused():
    with pytest.raises(ConfigError, match=r"charm\.consensus='vote' is unknown"):
        consensus_anchors([], 3, "vote")


def test_on_real_runs_every_stage_is_asked_about(synthetic):
    environments, policy = Environments(synthetic, Bm25()), ReaderSettings().build(synthetic)
    ran = [
        replace(trajectory(["A"], t.id), stages=FiveStage().run(t, environments.clean(t), policy))
        for t in synthetic.tasks[:10]
    ]
    asked = requests(ran, consensus_anchors(ran))
    assert len(asked.pairs) == len(ran) * (3 * 5 - 2) and len(asked.texts) == 5 * len(ran)
    scores = scored(ran, consensus_anchors(ran))
    assert scores.present.all() and np.isnan(scores.confidence).all()

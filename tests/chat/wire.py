"""A real HTTP server on loopback that speaks the providers' wire formats, as a script tells it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """One HTTP answer."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


Script = Callable[[int, dict[str, Any]], Answer]


@dataclass
class Wire:
    """What went over the wire: bodies, headers, paths, times, and the most requests at once."""

    url: str
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    now: int = 0
    most: int = 0


def completion(text: str | None, finish: str = "stop", **extra: Any) -> Answer:
    """An OpenAI chat completion."""
    message = {"role": "assistant", "content": text, **extra.pop("message", {})}
    choice = {"index": 0, "finish_reason": finish, "message": message, **extra}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return Answer(
        {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": "m-1",
            "choices": [choice],
            "usage": usage,
        }
    )


def with_logprobs(pieces: list[tuple[str, float]], content: str | None = None) -> Answer:
    """A completion whose tokens carry log-probs; ``content`` if it differs from the tokens."""
    entries = [{"token": t, "bytes": list(t.encode()), "logprob": p, "top_logprobs": []} for t, p in pieces]
    text = "".join(t for t, _ in pieces) if content is None else content
    return completion(text, logprobs={"content": entries})


def failure(status: int, message: str = "no", **headers: str) -> Answer:
    """An error in OpenAI's shape."""
    body = {"error": {"message": message, "type": "error", "code": None}}
    return Answer(body, status, {k.replace("_", "-"): v for k, v in headers.items()})


@contextmanager
def serving(script: Script) -> Iterator[Wire]:
    """Serve on a free loopback port; ``script(number, body)`` gives the answer to request ``number``."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                number = len(wire.bodies)
                wire.bodies.append(body)
                wire.headers.append({k.lower(): v for k, v in self.headers.items()})
                wire.paths.append(self.path)
                wire.times.append(time.monotonic())
                wire.now += 1
                wire.most = max(wire.most, wire.now)
            answer = script(number, body)
            time.sleep(answer.delay)
            with lock:
                wire.now -= 1
            payload = (
                answer.body.encode() if isinstance(answer.body, str) else json.dumps(answer.body).encode()
            )
            self.send_response(answer.status)
            for name, value in {"content-type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *arguments: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *a: None  # type: ignore[method-assign]
    wire = Wire(f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield wire
    finally:
        server.shutdown()
        server.server_close()

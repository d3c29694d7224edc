"""A loopback server that takes what ``wandb sync`` uploads: the run, its files, its artifacts."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Uploads:
    """What arrived: runs by GraphQL, and the content of every file by its path on the server."""

    url: str
    asked: list[str] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    committed: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    everything: list[bytes] = field(default_factory=list)


def _graphql(told: dict[str, Any], uploads: Uploads) -> dict[str, Any]:
    query, given = told["query"], told.get("variables") or {}
    found = re.search(r"(?:mutation|query)\s+(\w+)", query)
    name = found.group(1) if found else ""
    uploads.asked.append(name)

    def place(*parts: str) -> str:
        return "/".join((uploads.url, "upload", *parts))

    if name == "UpsertBucket":
        uploads.runs.append(given)
        project = {"id": "p", "name": given.get("project"), "entity": {"id": "e", "name": "someone"}}
        bucket = {"id": "b", "name": given.get("name"), "displayName": given.get("displayName")}
        return {"upsertBucket": {"bucket": {**bucket, "project": project}, "inserted": True}}
    if name == "CreateArtifact":
        label = given["input"]["artifactCollectionName"]
        artifact = {"id": label, "state": "PENDING", "artifactSequence": {"id": "s", "latestArtifact": None}}
        return {"createArtifact": {"artifact": artifact}}
    if name == "CreateArtifactManifest":
        label = given["input"]["artifactID"] if "input" in given else given["artifactID"]
        stored = {"id": "f", "name": "m", "displayName": "m", "uploadUrl": place(label, "manifest")}
        made = {"id": f"manifest-{label}", "file": {**stored, "uploadHeaders": []}}
        return {"createArtifactManifest": {"artifactManifest": made}}
    if name == "CreateArtifactFiles":
        wanted = given["input"]["artifactFiles"] if "input" in given else given["artifactFiles"]
        edges = []
        for spec in wanted:
            url = place(spec["artifactID"], spec["name"])
            node = {"id": "f", "name": spec["name"], "displayName": spec["name"], "uploadUrl": url}
            node |= {"uploadHeaders": [], "storagePath": "x", "artifact": {"id": spec["artifactID"]}}
            edges.append({"node": node})
        return {"createArtifactFiles": {"files": {"edges": edges}}}
    if name == "CommitArtifact":
        label = (given.get("input") or given)["artifactID"]
        uploads.committed.append(label)
        return {"commitArtifact": {"artifact": {"id": label, "digest": "d"}}}
    if name == "CreateRunFiles":
        files = [{"name": f, "uploadUrl": place("run", f)} for f in given["files"]]
        return {"createRunFiles": {"runID": "b", "uploadHeaders": [], "files": files}}
    if "viewer" in query:
        viewer = {"id": "u", "username": "someone", "entity": "someone", "flags": "{}", "admin": False}
        return {"viewer": {**viewer, "email": "a@b.c", "name": "s", "teams": {"edges": []}}}
    if "artifactType" in query:
        return {"project": None}
    return {}


@contextmanager
def collecting() -> Iterator[Uploads]:
    """Serve on a free loopback port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding") == "chunked":
                parts = b""
                while size := int(self.rfile.readline(), 16):
                    parts += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return parts
            return self.rfile.read(int(self.headers.get("content-length") or 0))

        def _answer(self, body: dict[str, Any]) -> None:
            payload = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def do_GET(self) -> None:
            self._answer({})

        def do_PUT(self) -> None:
            uploads.files[self.path.removeprefix("/upload/")] = self._body()
            self._answer({})

        def do_POST(self) -> None:
            body = self._body()
            uploads.everything.append(body)
            graphql = self.path == "/graphql"
            self._answer({"data": _graphql(json.loads(body), uploads)} if graphql else {})

        def log_message(self, *arguments: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *a: None  # type: ignore[method-assign]
    uploads = Uploads(f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield uploads
    finally:
        server.shutdown()
        server.server_close()

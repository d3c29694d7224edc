"""Downloads against a local HTTP server that misbehaves on purpose."""

import contextlib
import errno
import gzip
import hashlib
import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from experiments import downloads, fetch
from faultline.errors import ConfigError, DataError

BODY = b"".join(b'{"row": %d}\n' % i for i in range(40_000))
COMMIT = "a" * 40


class Handler(BaseHTTPRequestHandler):
    """``good``, ``truncated`` (half a body on the first request), ``missing``, ``loop``, ``broken``."""

    def do_GET(self):
        server = self.server
        server.requests.append((self.path, self.headers.get("Range")))
        name = self.path.rsplit("/", 1)[-1]
        if name == "loop.json":
            self.send_response(302)
            self.send_header("Location", self.path)
            self.end_headers()
        elif name == "missing.json":
            self.send_error(404)
        elif name == "broken.json":
            self.send_error(503)
        else:
            self.body(server.bodies.get(name, BODY), cut=name == "truncated.json")

    def body(self, data, cut):
        wanted = self.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.server.ranges else 0
        if start >= len(data):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        first = len([p for p, _ in self.server.requests if p == self.path]) == 1
        end = len(data) // 2 if cut and (first or self.server.always_cut) else len(data)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(data[start:end])

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(downloads.time, "sleep", lambda seconds: None)
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.requests, made.bodies, made.ranges, made.always_cut = [], {}, True, False
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def base(server):
    return f"http://127.0.0.1:{server.server_address[1]}"


def source(name="good.json", packed=".gz", body=BODY, **more):
    digest = hashlib.sha256(body).hexdigest()
    values = {"size": len(body), "sha256": digest, **more}
    return downloads.Source(f"set/{name}{packed}", "owner/name", COMMIT, f"data/{name}", **values)


def test_a_file_is_fetched_packed_and_checked(server, tmp_path):
    assert downloads.fetch(source(), tmp_path, base(server))
    path = tmp_path / "set" / "good.json.gz"
    assert gzip.decompress(path.read_bytes()) == BODY
    assert server.requests == [(f"/owner/name/{COMMIT}/data/good.json", None)]
    assert [p.name for p in path.parent.iterdir()] == ["good.json.gz"]


def test_a_good_file_is_never_touched(server, tmp_path):
    plain = source(packed="")
    downloads.fetch(plain, tmp_path, base(server))
    before = (tmp_path / plain.file).stat().st_mtime_ns
    assert not downloads.fetch(plain, tmp_path, base(server), replace=True)
    assert (tmp_path / plain.file).stat().st_mtime_ns == before
    assert len(server.requests) == 1


def test_another_content_is_kept_unless_told(server, tmp_path):
    path = tmp_path / "set" / "good.json"
    path.parent.mkdir()
    path.write_bytes(b"mine")
    with pytest.raises(DataError, match="give --replace"):
        downloads.fetch(source(packed=""), tmp_path, base(server))
    assert path.read_bytes() == b"mine"
    assert downloads.fetch(source(packed=""), tmp_path, base(server), replace=True)
    assert path.read_bytes() == BODY


def test_a_truncated_body_is_resumed(server, tmp_path):
    assert downloads.fetch(source("truncated.json"), tmp_path, base(server))
    assert server.requests[1][1] == f"bytes={len(BODY) // 2}-"


def test_a_server_without_ranges_starts_again(server, tmp_path):
    server.ranges = False
    assert downloads.fetch(source("truncated.json"), tmp_path, base(server))


def test_a_body_that_always_ends_early_keeps_its_part_for_the_next_call(server, tmp_path):
    server.always_cut = True
    cut = source("truncated.json")
    with pytest.raises(DataError, match="the body ended early"):
        downloads.fetch(cut, tmp_path, base(server))
    part = tmp_path / "set" / "truncated.json.gz.part"
    assert 0 < part.stat().st_size < len(BODY)
    assert not (tmp_path / cut.file).exists()
    server.always_cut = False
    assert downloads.fetch(cut, tmp_path, base(server))
    assert server.requests[-1][1] is not None


def test_a_part_that_is_too_long_is_thrown_away(server, tmp_path):
    part = tmp_path / "set" / "good.json.gz.part"
    part.parent.mkdir()
    part.write_bytes(BODY + b"more")
    assert downloads.fetch(source(), tmp_path, base(server))


def test_a_part_of_something_else_is_thrown_away(server, tmp_path):
    part = tmp_path / "set" / "good.json.gz.part"
    part.parent.mkdir()
    part.write_bytes(b"something else")
    assert downloads.fetch(source(), tmp_path, base(server))
    assert [p.name for p in part.parent.iterdir()] == ["good.json.gz"]


def test_a_wrong_hash_leaves_nothing(server, tmp_path):
    server.bodies["good.json"] = BODY.replace(b"39999", b"40000")
    with pytest.raises(DataError, match="does not hold the pinned revision"):
        downloads.fetch(source(), tmp_path, base(server))
    assert list((tmp_path / "set").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message", "asked"),
    [("missing.json", "HTTP 404", 1), ("loop.json", "HTTP 302", None), ("broken.json", "HTTP 503", 3)],
)
def test_errors_of_the_server_are_one_line(server, tmp_path, name, message, asked):
    with pytest.raises(DataError, match=message) as caught:
        downloads.fetch(source(name), tmp_path, base(server))
    assert "\n" not in str(caught.value)
    assert asked is None or len(server.requests) == asked


def test_no_server(tmp_path, monkeypatch):
    monkeypatch.setattr(downloads.time, "sleep", lambda seconds: None)
    with pytest.raises(DataError, match="check the network"):
        downloads.fetch(source(), tmp_path, "http://127.0.0.1:9")


def test_no_space_before_and_during(server, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10, 9, 1))
        with pytest.raises(DataError, match="1 bytes free"):
            downloads.fetch(source(), tmp_path, base(server))

    def full(reply, out):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(downloads, "_copy", full)
    with pytest.raises(DataError, match="no space left"):
        downloads.fetch(source(), tmp_path, base(server))
    assert not (tmp_path / source().file).exists()


def test_contents_that_are_made_from_the_download(server, tmp_path):
    rows = [{"_id": "x", "q": "é"}, {"_id": "y", "q": "b"}]
    columns = {"id": {"7": 0, "3": 1}, "_1": {"7": "x", "3": "y"}, "q": {"7": "é", "3": "b"}}
    server.bodies["good.json"] = json.dumps(columns).encode()
    expected = (json.dumps(rows, ensure_ascii=False) + "\n").encode()
    made = source(body=expected, make="records")
    assert downloads.fetch(made, tmp_path, base(server))
    lines = b'{"a": 1, "context": []}\n{"a": 2}\n{"context": [1]}\n'
    assert downloads.lines_with_context(lines) == b'{"a": 1, "context": []}\n{"context": [1]}\n'


def test_the_shipped_sources_are_pinned():
    known = downloads.catalogue(fetch.SOURCES)
    assert {"ths_release", "fp_release", "hotpotqa", "musique", "2wikimultihopqa"} <= set(known)
    files = [source for path in known.values() for source in downloads.read_sources(path)]
    assert len({source.file for source in files}) == len(files)
    assert all(len(source.commit) == 40 for source in files)


def test_a_broken_entry_is_named(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(yaml.safe_dump({"files": [{"file": "a", "repo": "o/n"}]}))
    with pytest.raises(ConfigError, match=r"x\.yaml: files\[0\]"):
        downloads.read_sources(path)


def shipped(monkeypatch, tmp_path, *names):
    folder = tmp_path / "sources"
    folder.mkdir()
    digest = hashlib.sha256(BODY).hexdigest()
    files = [
        {
            "file": f"set/{n}.gz",
            "repo": "o/n",
            "commit": COMMIT,
            "path": n,
            "bytes": len(BODY),
            "sha256": digest,
        }
        for n in names
    ]
    (folder / "toy.yaml").write_text(yaml.safe_dump({"files": files}))
    monkeypatch.setattr(fetch, "SOURCES", folder)


def test_the_command(server, tmp_path, monkeypatch, capsys):
    shipped(monkeypatch, tmp_path, "good.json", "missing.json")
    command = ["toy", "--to", str(tmp_path / "data"), "--base-url", base(server)]
    assert fetch.main(command) == 2
    told = capsys.readouterr()
    assert "1 of 2 files are good" in told.out
    assert len(told.err.splitlines()) == 1
    assert fetch.main([*command, "--check"]) == 2
    assert "missing       set/missing.json.gz" in capsys.readouterr().out


def test_wrong_usage(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("FAULTLINE_DATA_DIR", raising=False)
    assert fetch.main(["ths_release"]) == 2
    assert "FAULTLINE_DATA_DIR is not set" in capsys.readouterr().err
    assert fetch.main(["nothing", "--to", str(tmp_path)]) == 2
    assert "unknown data set nothing" in capsys.readouterr().err
    assert fetch.main([]) == 0
    assert "ths_release" in capsys.readouterr().out

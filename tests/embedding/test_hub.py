"""Models by their Hugging Face id: from the cache, and from a loopback server that answers as the hub does."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from tests.embedding.tiny import unit

from wellread.embedding.onnx import OnnxEmbedder, from_spec
from wellread.errors import EmbedderError, MissingExtra
from wellread.parts import Parts
from wellread.plugins import parse_spec
from wellread.settings import Settings

COMMIT = "c0ffee" + "0" * 34
Folder = Callable[..., Path]


class Hub:
    """One repository, `someone/e5-small`, with the files of a folder."""

    def __init__(self, files: Path) -> None:
        self.files = files
        self.seen: list[str] = []
        self.tokens: list[str | None] = []
        self.listed: list[str] = []  # what it says there is, beside its files
        self.elsewhere = ""  # where its largest file is
        hub = self

        class Handler(SimpleHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._answer(with_body=False)

            def do_GET(self) -> None:
                self._answer(with_body=True)

            def _answer(self, *, with_body: bool) -> None:
                path = urlsplit(self.path).path
                hub.seen.append(path)
                hub.tokens.append(self.headers.get("authorization"))
                status, content, kind = hub.content(path)
                if hub.elsewhere and path.endswith("model.onnx") and with_body:  # as the hub leads to its storage
                    self.send_response(302)
                    self.send_header("location", hub.elsewhere + path)
                    self.send_header("content-length", "0")
                    self.end_headers()
                    return
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.send_header("x-repo-commit", COMMIT)
                self.send_header("etag", f'"{hashlib.sha1(content).hexdigest()}"')
                self.end_headers()
                if with_body:
                    self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True

    def content(self, path: str) -> tuple[int, bytes, str]:
        import json

        names = [str(file.relative_to(self.files)) for file in self.files.rglob("*") if file.is_file()]
        if path.startswith("/api/models/someone/e5-small/tree/"):
            tree: list[dict[str, Any]] = [
                {"type": "file", "path": name, "size": (self.files / name).stat().st_size, "oid": "0" * 40} for name in names
            ]
            tree += [{"type": "file", "path": name, "size": 2, "oid": "0" * 40} for name in self.listed]
            return 200, json.dumps(tree).encode(), "application/json"
        if path.startswith("/api/models/someone/e5-small"):
            info = {"id": "someone/e5-small", "sha": COMMIT, "siblings": [{"rfilename": name} for name in [*names, *self.listed]]}
            return 200, json.dumps(info).encode(), "application/json"
        name = path.removeprefix(f"/someone/e5-small/resolve/{COMMIT}/")
        if name in names:
            return 200, (self.files / name).read_bytes(), "application/octet-stream"
        if self.listed and "evil" in name:
            return 200, b"{}", "application/octet-stream"
        return 404, b'{"error": "Repository not found"}', "application/json"


@pytest.fixture
def hub(folder: Folder) -> Iterator[Hub]:
    files = folder("published", file="onnx/model.onnx", files={"config.json": {"max_position_embeddings": 64}})
    (files / "pytorch_model.bin").write_bytes(b"large and not needed")
    made = Hub(files)
    thread = threading.Thread(target=made.http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.http.shutdown()
    made.http.server_close()
    thread.join()


@pytest.fixture
def load(tmp_path: Path, hub: Hub) -> Callable[[str], OnnxEmbedder]:
    environ = {"HF_HOME": str(tmp_path / "hf"), "HF_ENDPOINT": f"http://127.0.0.1:{hub.http.server_port}"}
    return lambda spec: from_spec(parse_spec(spec), Parts(Settings(), environ=environ))


def test_a_model_is_downloaded_once_and_then_cached(load: Callable[[str], OnnxEmbedder], hub: Hub) -> None:
    for _ in range(2):
        embedder = load("onnx:someone/e5-small")
        np.testing.assert_allclose(embedder.embed_now(["red"], kind="query")[0], unit("query", ":", "red"), atol=1e-6)
        assert embedder.name == "onnx:someone/e5-small"
    assert sum(path.endswith("onnx/model.onnx") for path in hub.seen) <= 2  # its head and its body
    assert not any(path.endswith("pytorch_model.bin") for path in hub.seen)
    hub.seen.clear()
    assert load("onnx:someone/e5-small").dimensions == 4
    assert hub.seen == []


def test_a_cache_in_its_usual_place_is_used_without_network(tmp_path: Path, folder: Folder) -> None:
    repository = tmp_path / "cache" / "models--someone--tiny"
    folder("made", file="onnx/model.onnx")
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    (repository / "snapshots").mkdir()
    (tmp_path / "made").rename(repository / "snapshots" / COMMIT)
    environ = {"HF_HUB_CACHE": str(tmp_path / "cache"), "HF_ENDPOINT": "http://127.0.0.1:9"}
    embedder = from_spec(parse_spec("onnx:someone/tiny"), Parts(Settings(), environ=environ))
    np.testing.assert_allclose(embedder.embed_now(["red"], kind="query")[0], unit("red"), atol=1e-6)


def test_a_file_that_the_repository_does_not_have(load: Callable[[str], OnnxEmbedder]) -> None:
    with pytest.raises(EmbedderError, match=r"has no onnx/model_int4.onnx; .*\?file="):
        load("onnx:someone/e5-small?file=onnx/model_int4.onnx").load()


@pytest.mark.parametrize("file", ["../../elsewhere.onnx", "/elsewhere.onnx"])
def test_a_file_outside_of_the_repository(load: Callable[[str], OnnxEmbedder], file: str) -> None:
    with pytest.raises(EmbedderError, match="no file of that model"):
        load(f"onnx:someone/e5-small?file={file}").load()


@pytest.mark.parametrize("name", ["../../../../evil.json", "/{}/evil.json", "a/../../../../../evil.json", "..\\..\\evil.json"])
def test_a_hub_that_names_files_outside_writes_none_there(
    name: str, load: Callable[[str], OnnxEmbedder], hub: Hub, tmp_path: Path
) -> None:
    hub.listed.append(name.format(tmp_path))
    with suppress(EmbedderError):
        load("onnx:someone/e5-small").load()
    inside = tmp_path / "hf" / "hub" / "models--someone--e5-small"
    assert hub.seen
    assert [path for path in tmp_path.rglob("*evil*") if not path.is_relative_to(inside)] == []


def test_a_hub_that_leads_elsewhere_shows_nobody_the_token(tmp_path: Path, hub: Hub, folder: Folder) -> None:
    other = Hub(hub.files)
    thread = threading.Thread(target=other.http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        hub.elsewhere = f"http://localhost:{other.http.server_port}"
        environ = {
            "HF_HOME": str(tmp_path / "hf"),
            "HF_ENDPOINT": f"http://127.0.0.1:{hub.http.server_port}",
            "HF_TOKEN": "hf_secret",
        }
        from_spec(parse_spec("onnx:someone/e5-small"), Parts(Settings(), environ=environ)).load()
    finally:
        other.http.shutdown()
        other.http.server_close()
        thread.join()
    assert "Bearer hf_secret" in hub.tokens
    assert other.tokens == [None] * len(other.tokens)
    assert other.tokens


def test_a_repository_that_is_not_there(load: Callable[[str], OnnxEmbedder]) -> None:
    with pytest.raises(EmbedderError, match="nobody/nothing is not in the local cache and could not be downloaded: ") as caught:
        load("onnx:nobody/nothing").load()
    assert "\n" not in str(caught.value)


def test_nobody_answers(tmp_path: Path) -> None:
    environ = {"HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9"}
    with pytest.raises(EmbedderError, match="could not be downloaded"):
        from_spec(parse_spec("onnx:someone/tiny"), Parts(Settings(), environ=environ)).load()


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r'pip install "wellread\[hub\]"'):
        from_spec(parse_spec("onnx:someone/tiny"), Parts(Settings(), environ={})).load()

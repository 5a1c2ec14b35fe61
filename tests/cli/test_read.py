"""`wellread read`: pages from a server, files, and the ways it says no."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from wellread.cli.main import app
from wellread.errors import Blocked, ReadError, UsageError, WellreadError

pytestmark = pytest.mark.slow

PROSE = "The keeper wrote down the wind and the cloud each evening before he went to bed, for eleven winters."


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        robots = self.path == "/robots.txt"
        body = "User-agent: *\nDisallow: /private" if robots else f"<title>Papers</title><body><p>{PROSE}\x1b[31m red</p>"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain" if robots else "text/html")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def base() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["read", *arguments])


def test_a_page(base: str) -> None:
    done = run(f"{base}/a", "--allow-host", "127.0.0.1", "--no-cache")
    assert done.exit_code == 0
    assert done.stdout == f"{PROSE}[31m red\n"
    assert "Papers" in done.stderr


def test_a_page_as_json(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WELLREAD_ALLOW_HOSTS", "127.0.0.1")
    done = run(f"{base}/a", "--json")
    page = json.loads(done.stdout)
    assert (page["title"], page["kind"], page["url"]) == ("Papers", "html", f"{base}/a")
    assert page["passages"] == [page["text"]]


def test_a_host_that_was_not_allowed(base: str) -> None:
    done = run(f"{base}/a")
    assert isinstance(done.exception, Blocked)


def test_robots(base: str) -> None:
    own = ("--allow-host", "127.0.0.1", "--no-cache")
    done = run(f"{base}/private", *own)
    assert isinstance(done.exception, Blocked)
    assert run(f"{base}/private", *own, "--ignore-robots").exit_code == 0


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "the keeper.txt"
    path.write_text(PROSE)
    assert run(str(path)).stdout == PROSE + "\n"
    assert run(path.as_uri()).stdout == PROSE + "\n"
    assert isinstance(run(str(tmp_path / "missing")).exception, ReadError)


@pytest.mark.parametrize("what", ["ftp://example.com/a", "gopher://example.com/"])
def test_other_schemes(what: str) -> None:
    assert isinstance(run(what).exception, Blocked)


def test_what_cannot_be_read_goes_by_the_name_that_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nö.txt").touch()
    assert str(CliRunner().invoke(app, ["read", "nö.txt"]).exception) == "nö.txt: the page is empty"
    missing = CliRunner().invoke(app, ["ask", "Who?", "--source", "missing.pdf"])
    assert "there is no file or folder 'missing.pdf'" in str(missing.exception)


@pytest.mark.parametrize("what", ["file:///%00", "file://[::1/x", "a\0b"])
def test_what_names_no_file_is_wrong_usage(what: str) -> None:
    assert isinstance(run(what).exception, UsageError)


@pytest.mark.parametrize(
    "arguments",
    [
        ("read", "~nobody.of.that.name/x"),
        ("search", "Who?", "--source", "files:~nobody.of.that.name/x"),
        ("search", "Who?", "--source", "index:~nobody.of.that.name/x"),
        ("search", "Who?", "--source", "urls:~nobody.of.that.name/x"),
        ("search", "Who?", "--embedder", "onnx:~nobody.of.that.name/x", "--source", "library"),
        ("index", "build", "~nobody.of.that.name/x", "-o", "index"),
    ],
)
def test_the_folder_of_somebody_who_is_not_known_is_not_there(arguments: tuple[str, ...]) -> None:
    problem = CliRunner().invoke(app, list(arguments)).exception
    assert isinstance(problem, WellreadError | SystemExit), problem

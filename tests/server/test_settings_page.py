"""The settings in the page: for this machine and this user alone, kept in the file, keys never shown again."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.server.stage import TOKEN, Live, ask, finished, quoting, running
from tests.server.test_collections import make, sent, settled
from tests.wire.server import as_json, serving

from wellread import settings
from wellread.engine import Engine
from wellread.errors import SettingsError
from wellread.parts import Parts
from wellread.server.web.configuring import change, changed
from wellread.settings import Settings

pytestmark = pytest.mark.slow

KEY = "sk-nobody-sees-this"
FILE = """# mine
hops = 2  # two steps
sources = [
  "library",
  "wikipedia",
]

[server]
port = 8001  # not 8000

[params.iterative]
max_searches = 8
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(FILE, encoding="utf-8")
    monkeypatch.setenv("WELLREAD_CONFIG", str(path))
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return path


@pytest.fixture
def live(config: Path, tmp_path: Path) -> Iterator[Live]:
    with running(quoting(), tmp_path / "data") as server:
        yield server


@pytest.fixture
def client(live: Live) -> Iterator[httpx2.Client]:
    with live.client() as one:
        yield one


def test_what_is_saved_is_in_the_file_and_nothing_else_changes(config: Path, client: httpx2.Client) -> None:
    form = {"model": "ollama:qwen3", "sources": "library\n", "effort": "high", "ANTHROPIC_API_KEY": KEY}
    reply = client.post("/settings", data=form)
    assert reply.status_code == 303
    assert tomllib.loads(config.read_text()) == {
        **tomllib.loads(FILE),
        "model": "ollama:qwen3",
        "sources": ["library"],
        "effort": "high",
        "keys": {"ANTHROPIC_API_KEY": KEY},
    }
    for comment in ("# mine", "# two steps", "# not 8000"):
        assert comment in config.read_text()
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    page = client.get(reply.headers["location"]).text
    assert "from the next question on" in page
    assert KEY not in page
    assert "ANTHROPIC_API_KEY: models of Anthropic (in the settings file)" in page


def test_what_is_saved_holds_at_once(config: Path, tmp_path: Path) -> None:
    config.write_text('[keys]\nTAVILY_API_KEY = "old"\n')
    config.chmod(0o600)
    with running(Engine(settings.load()), tmp_path / "data") as live, live.client(follow_redirects=True) as client:
        assert client.get("/api/menu").json()["models"] == []
        sources = f"library\nfiles:{tmp_path / 'notes'}"
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "ferry.txt").write_text("The ferry to Skerry ran on Tuesdays only.")
        page = client.post("/settings", data={"sources": sources, "effort": "low", "ANTHROPIC_API_KEY": KEY}).text
        assert "Saved. It holds from the next question on.<" in page
        menu = client.get("/api/menu").json()
        assert menu["models"] == [{"name": "anthropic:claude-haiku-5-5", "summary": "", "usable": True}]
        assert menu["sources"][0]["name"] == sources.replace("\n", " + ")
        assert live.service.engine.settings.effort == "low"
        run = finished(client, ask(client, "When did the ferry to Skerry run?", model="none"))
        assert "Tuesdays" in run["answer"]["answer"]
        page = client.post("/settings", data={"sources": "library", "TAVILY_API_KEY": "new"}).text
        assert "A key that was there before is used until the next start" in page
        page = client.post("/settings", data={"sources": "library", "forget ANTHROPIC_API_KEY": "yes"}).text
        assert client.get("/api/menu").json()["models"] == []
        assert client.get("/api/menu").json()["sources"][0]["name"] == "library"


def test_models_and_sources_are_chosen_by_name(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.write_text("")
    with serving([as_json({"models": [{"name": "qwen3:8b"}, {"name": "llama3"}]})] * 5) as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        with running(quoting(), tmp_path / "data") as live, live.client() as client:
            settled(client, make(client, "Ferries", sent(ferry__txt="The ferry to Skerry ran on Tuesdays only.")))
            page = client.get("/settings").text
            assert re.findall(r'<option value="(ollama:[^"]*)"[^>]*>([^<]*)<', page) == [
                ("ollama:qwen3:8b", "Ollama (qwen3:8b)"),
                ("ollama:llama3", "Ollama (llama3)"),
            ]
            boxes = re.findall(r'name="source" value="([^"]*)"( checked)?><span>([^<]*)<', page)
            assert [(ticked, name) for _, ticked, name in boxes] == [(" checked", "Library"), ("", "Wikipedia"), ("", "Ferries")]
            ticks = [unescape(value) for value, _, _ in boxes]
            client.post("/settings", data={"model": "ollama:llama3", "source": [ticks[0], ticks[2]], "sources": "wikipedia"})
            kept = tomllib.loads(config.read_text())
            assert kept == {
                "model": "ollama:llama3",
                "sources": ["library", live.service.collections.specs()["Ferries"], "wikipedia"],
            }
            client.post("/settings", data={"model": "ollama:llama3", "other model": "ollama:phi", "source": ticks[:1]})
            assert tomllib.loads(config.read_text())["model"] == "ollama:phi"


def test_a_password_in_an_address_is_kept_and_not_shown(config: Path, client: httpx2.Client) -> None:
    said = {"model": "openai:m@http://ann:secret-word@127.0.0.1:9/v1", "sources": ["searxng:http://ann:secret-word@127.0.0.1:9"]}
    client.post("/settings", data={**said, "sources": said["sources"][0]})
    shown = [client.get("/settings").text, client.post("/settings/check").text]
    assert not any("secret-word" in page for page in shown)
    client.post("/settings", data={"model": "openai:m@http://127.0.0.1:9/v1", "sources": "searxng:http://127.0.0.1:9"})
    kept = tomllib.loads(config.read_text())
    assert {name: kept[name] for name in said} == said


@pytest.mark.parametrize("form", [{"sources": "a" * 300}, {"model": "ollama:a\u2028b"}, {"sources": "lib\x01rary"}])
def test_what_is_no_spec_is_refused_and_the_page_goes_on(config: Path, client: httpx2.Client, form: dict[str, str]) -> None:
    config.write_text(f"# one\u2028line\n{FILE}", encoding="utf-8")
    assert client.post("/settings", data=form).status_code == 400
    assert client.post("/settings", data={"model": "ollama:fine"}).status_code == 303
    assert client.get("/settings").status_code == 200
    assert config.read_text(encoding="utf-8").startswith("# one\u2028line\n")


def test_what_a_flag_or_a_variable_gave_goes_before_it(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WELLREAD_EFFORT", "low")
    of = Engine(settings.load({"model": "none"}))
    with running(of, tmp_path / "data") as live, live.client(follow_redirects=True) as client:
        form = {"model": "ollama:qwen3", "effort": "high", "sources": "wikipedia"}
        page = client.post("/settings", data=form).text
        assert "Not so model and effort: given by a flag or a variable of this start" in page
        now = live.service.engine.settings
        assert (now.model, now.effort, now.sources) == ("none", "low", ("wikipedia",))
    assert tomllib.loads(config.read_text())["model"] == "ollama:qwen3"


def test_a_key_stays_until_it_is_forgotten(config: Path, client: httpx2.Client) -> None:
    client.post("/settings", data={"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": "other"})
    client.post("/settings", data={"ANTHROPIC_API_KEY": "", "sources": "library"})
    assert tomllib.loads(config.read_text())["keys"] == {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": "other"}
    client.post("/settings", data={"forget ANTHROPIC_API_KEY": "yes", "sources": "library"})
    assert tomllib.loads(config.read_text())["keys"] == {"OPENAI_API_KEY": "other"}


def test_the_check_says_what_doctor_says(config: Path, client: httpx2.Client) -> None:
    client.post("/settings", data={"ANTHROPIC_API_KEY": KEY, "sources": "searxng:http://127.0.0.1:9"})
    page = client.post("/settings/check").text
    assert KEY not in page
    wellread = str(Path(sys.executable).parent / "wellread")
    said = subprocess.run([wellread, "doctor"], capture_output=True, text=True, timeout=120, check=False)
    assert said.returncode == 1
    lines = [line[2:] for line in said.stdout.splitlines() if line[:1] in "✓·✗"]
    shown = re.findall(r"<li class=.*?<div>(.*?)(?:<small>.*?)?</div></li>", page)
    assert shown == lines
    assert any("cannot be reached" in line for line in shown)
    assert "ANTHROPIC_API_KEY is set (models of Anthropic)" in shown


@pytest.mark.parametrize(
    "form",
    [
        {"model": "no-such-provider:x"},
        {"sources": "no-such-source"},
        {"effort": "enormous"},
        {"ANTHROPIC_API_KEY": "two words"},
        {"OPENAI_API_KEY": "line\nbreak"},
    ],
)
def test_what_is_wrong_is_told_and_not_written(config: Path, client: httpx2.Client, form: dict[str, str]) -> None:
    reply = client.post("/settings", data=form)
    assert reply.status_code == 400
    assert 'role="alert"' in reply.text
    assert config.read_text() == FILE


@pytest.mark.parametrize("options", [{"token": TOKEN}, {"proxy": True}, {"allowed_hosts": ("a.example",)}, {"setup": False}])
def test_nowhere_else(config: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with running(quoting(), tmp_path / "data", **options) as live, live.client(headers=headers) as client:
        assert client.get("/settings").status_code == 404
        assert client.post("/settings", data={"ANTHROPIC_API_KEY": KEY}).status_code == 404
        assert client.post("/settings/check").status_code == 404
        assert "/settings" not in client.get("/").text
    assert config.read_text() == FILE


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://elsewhere.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "a.example"}]
)
def test_other_sites_change_nothing(config: Path, client: httpx2.Client, headers: dict[str, str]) -> None:
    assert client.post("/settings", data={"ANTHROPIC_API_KEY": KEY}, headers=headers).status_code in (403, 421)
    assert config.read_text() == FILE


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/proc/net/tcp").exists(), reason="takes root to be somebody else")
def test_other_users_of_the_machine_change_nothing(config: Path, live: Live) -> None:
    asking = "import sys, urllib.request as u; print(u.build_opener(u.ProxyHandler({})).open(sys.argv[1]).status)"
    for user, outcome in ((None, "200"), (65534, "404")):
        command = ["/usr/bin/python3", "-c", asking, f"{live.url}/settings"]
        done = subprocess.run(command, user=user, capture_output=True, text=True, timeout=30, check=False, cwd="/")
        assert outcome in done.stdout + done.stderr


# A port has connections to several others; those that it closed are in the kernel's table under root for a minute.
BORROWED = """
import socket, sys
def connected(port, to):
    own = socket.socket()
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    own.bind(("127.0.0.1", port))
    own.connect(("127.0.0.1", to))
    return own
port = 0
for _ in range(12):
    other = socket.create_server(("127.0.0.1", 0))
    own = connected(port, other.getsockname()[1])
    port = own.getsockname()[1]
    there, _ = other.accept()
    own.close()
    there.recv(1)
    there.close()
own = connected(port, int(sys.argv[1]))
own.sendall(sys.argv[2].encode())
print(own.recv(100).decode())
"""
LEFT = """
import socket, sys
for _ in range(20):
    own = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    own.sendall(sys.argv[2].encode())
    own.close()
"""


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/proc/net/tcp").exists(), reason="takes root to be somebody else")
@pytest.mark.parametrize("way", [BORROWED, LEFT], ids=["from a port that closed others", "closed before it is looked at"])
def test_other_users_do_not_pass_for_root(config: Path, live: Live, way: str) -> None:
    form = f"ANTHROPIC_API_KEY={KEY}"
    head = f"POST /settings HTTP/1.1\r\nHost: {live.url[7:]}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    request = f"{head}Content-Length: {len(form)}\r\n\r\n{form}"
    command = ["/usr/bin/python3", "-c", way, live.url.rpartition(":")[2], request]
    done = subprocess.run(command, user=65534, capture_output=True, text=True, timeout=30, check=False, cwd="/")
    assert not done.stderr
    assert "404" in done.stdout or way == LEFT
    with live.client() as client:  # after all that came before it
        assert client.get("/settings").status_code == 200
    assert config.read_text() == FILE


def test_keys_of_the_file_are_used_where_the_environment_has_none(config: Path) -> None:
    change(config, {}, {"ANTHROPIC_API_KEY": KEY})
    loaded = settings.load({}, {"WELLREAD_CONFIG": str(config)})
    assert Parts(loaded, {}).environ["ANTHROPIC_API_KEY"] == KEY
    assert Parts(loaded, {"ANTHROPIC_API_KEY": "mine"}).environ["ANTHROPIC_API_KEY"] == "mine"
    assert Parts(loaded, {}).model_spec() == "anthropic:claude-haiku-5-5"
    assert KEY not in repr(loaded)


def test_a_file_with_keys_that_others_may_read_is_refused(config: Path) -> None:
    change(config, {}, {"ANTHROPIC_API_KEY": KEY})
    config.chmod(0o644)
    with pytest.raises(SettingsError, match="others may read keys") as told:
        settings.load({}, {"WELLREAD_CONFIG": str(config)})
    assert KEY not in str(told.value)


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", 'model = "a"', '[keys]\nA = "x"\n[server]\nport = 1\n', "x = 1\n\n[server]\n", FILE]
)
def test_any_file_keeps_what_it_says(text: str) -> None:
    fresh = changed(text, {"model": "b", "sources": None}, {"A": "y", "B": 'q"\\'})
    old = tomllib.loads(text)
    old.pop("sources", None)
    assert tomllib.loads(fresh) == {**old, "model": "b", "keys": {**old.get("keys", {}), "A": "y", "B": 'q"\\'}}


@pytest.mark.parametrize("text", ["keys.A = 'x'\n", "keys = { A = 'x' }\n", "a = '''\n[keys]\nmodel = 1\n'''\n"])
def test_a_file_that_cannot_be_changed_safely_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    try:
        change(path, {}, {"A": "y"})
    except SettingsError:
        assert path.read_text() == text
    else:
        assert tomllib.loads(path.read_text())["keys"]["A"] == "y"


def test_no_settings_hold_keys_by_themselves() -> None:
    assert Settings().keys == {}

"""Keys in a real keyring: Secret Service as GNOME's daemon speaks it, on a message bus of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wellread.core import keychain

pytestmark = [pytest.mark.service, pytest.mark.slow]
KEY = "sk-nobody-sees-this"
UNLOCKED = 'printf once | gnome-keyring-daemon --unlock --components=secrets >/dev/null; exec "$@"'
VISIT = """
import json, os, sys
from pathlib import Path
from tests.server.stage import running
from wellread import settings
from wellread.core import keychain
from wellread.engine import Engine
from wellread.parts import Parts
from wellread.server import diagnosis

told = {"backend": keychain.backend()}
with running(Engine(settings.load()), Path(sys.argv[1])) as live, live.client(follow_redirects=True) as client:
    told["before"] = client.get("/settings").text
    told["saved"] = client.post("/settings", data={"ANTHROPIC_API_KEY": sys.argv[2], "model": "none"}).text
    told["file"] = Path(os.environ["WELLREAD_CONFIG"]).read_text()
    told["used"] = Parts(settings.load()).environ.get("ANTHROPIC_API_KEY")
    told["here"] = live.service.engine.kit.environ.get("ANTHROPIC_API_KEY")
    told["found"] = [one.what for one in diagnosis.findings()]
    told["forgotten"] = client.post("/settings", data={"forget ANTHROPIC_API_KEY": "yes", "model": "none"}).text
    told["after"] = keychain.key("ANTHROPIC_API_KEY")
print("TOLD" + json.dumps(told))
"""


def visit(folder: Path, *before: str, **environ: str) -> dict[str, Any]:
    """What a server says and does in a process of its own."""
    config = folder / "config.toml"
    config.write_text('effort = "low"\n')
    config.chmod(0o600)
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHON_KEYRING_BACKEND", "ANTHROPIC_API_KEY")}
    own |= {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "share"), "WELLREAD_CONFIG": str(config), **environ}
    command = [*before, sys.executable, "-c", VISIT, str(folder), KEY]
    done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=120, check=False, cwd=os.getcwd())
    told = next((line for line in done.stdout.splitlines() if line.startswith("TOLD")), None)
    assert told is not None, done.stderr
    return json.loads(told.removeprefix("TOLD"))


def test_a_key_is_kept_in_the_systems_keyring(tmp_path: Path, need: Callable[[bool, str], None]) -> None:
    need(all(map(shutil.which, ("gnome-keyring-daemon", "dbus-run-session"))), "gnome-keyring")
    told = visit(tmp_path, "dbus-run-session", "--", "sh", "-c", UNLOCKED, "sh")
    assert told["backend"] == "SecretService Keyring"
    assert "the system&#x27;s keyring (SecretService Keyring)" in told["before"].replace("&#39;", "&#x27;")
    assert "ANTHROPIC_API_KEY: models of Anthropic (in the keyring)" in told["saved"]
    assert KEY not in told["saved"] + told["file"] + told["forgotten"]
    assert tomllib.loads(told["file"])["keys"] == {"ANTHROPIC_API_KEY": keychain.MARK}
    assert told["used"] == told["here"] == KEY
    assert "ANTHROPIC_API_KEY is set (models of Anthropic)" in told["found"]
    assert "ANTHROPIC_API_KEY: models of Anthropic (not set)" in told["forgotten"]
    assert told["after"] is None
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_without_one_it_is_the_settings_file(tmp_path: Path) -> None:
    told = visit(tmp_path, DBUS_SESSION_BUS_ADDRESS="unix:path=/nowhere")
    assert told["backend"] is None
    assert "the settings file (no keyring of the system was found)" in told["before"]
    assert "ANTHROPIC_API_KEY: models of Anthropic (in the settings file)" in told["saved"]
    assert tomllib.loads(told["file"])["keys"] == {"ANTHROPIC_API_KEY": KEY}
    assert told["used"] == told["here"] == KEY
    assert "ANTHROPIC_API_KEY: models of Anthropic (not set)" in told["forgotten"]


def test_a_keyring_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'[keys]\nANTHROPIC_API_KEY = "{keychain.MARK}"\n')
    config.chmod(0o644)  # it holds no secret
    own = {**os.environ, "WELLREAD_CONFIG": str(config), "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    own.pop("ANTHROPIC_API_KEY", None)
    wellread = str(Path(sys.executable).parent / "wellread")
    said = subprocess.run([wellread, "doctor"], env=own, capture_output=True, text=True, timeout=120, check=False)
    assert said.returncode == 1
    assert "ANTHROPIC_API_KEY is in the keyring, which cannot be read" in said.stdout
    asked = [wellread, "ask", "Who discovered Titan?"]
    answered = subprocess.run(asked, env=own, capture_output=True, text=True, timeout=120, check=False)
    assert "Huygens" in answered.stdout  # what needs no key works

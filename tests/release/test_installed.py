"""From a wheel, without the repository: the two commands of the README, a server, a plugin, every example."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import httpx2
import pytest
from tests.release.conftest import ROOT, Installed, built
from tests.wire.openai import chat
from tests.wire.server import serving

from wellread.version import __version__

pytestmark = pytest.mark.slow

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_it_is_the_wheel_that_runs(installed: Installed) -> None:
    place = installed.run("python", "-c", "import wellread; print(wellread.__file__)").stdout
    assert place.startswith(str(installed.environment))
    assert installed.run("wellread", "--version").stdout == f"wellread {__version__}\n"


def test_ask_and_json(installed: Installed) -> None:
    question = "Which is the largest moon of Saturn, and who discovered it?"
    assert installed.run("wellread", "ask", question).stdout.startswith("Titan; Christiaan Huygens\n")
    found = json.loads(installed.run("wellread", "ask", "Who", "wrote", "Hamlet", "--json").stdout)
    assert (found["outcome"], found["short"]) == ("answered", "William Shakespeare")


def test_the_python_of_the_readme(installed: Installed) -> None:
    code = re.search(r"^    import wellread\n(?:    .*\n)+", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert code is not None
    done = installed.run("python", "-c", re.sub(r"^    ", "", code[0], flags=re.MULTILINE))
    assert "Telescope" in done.stdout, done.stderr


def test_serve(installed: Installed) -> None:
    command = [str(installed.environment / "bin" / "wellread"), "serve", "--port", "0", "--model", "none"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=installed.elsewhere, env=installed.environ()) as server:
        try:
            assert server.stderr is not None
            said = next(line for line in server.stderr if "listens on" in line)
            address = re.search(r"http://\S+/", said)
            assert address is not None
            with httpx2.Client(base_url=address[0], timeout=60, trust_env=False) as client:
                assert "<form" in client.get("/").text
                assert client.get("/static/base.css").status_code == 200
                assert "William Shakespeare" in client.post("/api/ask", json={"question": "Who wrote Hamlet?"}).text
        finally:
            server.terminate()


def test_the_sdist_makes_the_same_wheel(installed: Installed, tmp_path: Path) -> None:
    with tarfile.open(installed.sdist) as packed:
        packed.extractall(tmp_path / "sdist", filter="data")
    (project,) = (tmp_path / "sdist").iterdir()
    again = built(project, tmp_path / "wheel", "-t", "wheel")
    assert names(again) == names(installed.wheel)


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as packed:
        return {name for name in packed.namelist() if not name.endswith("RECORD")}


def test_the_size_is_as_stated(installed: Installed) -> None:
    stated = re.search(r"wheel of (\d+) MB", (ROOT / "README.md").read_text("utf-8"))
    assert stated is not None
    assert abs(installed.wheel.stat().st_size / 1e6 - int(stated[1])) < 1


def test_the_template_of_a_plugin_is_found_and_used(installed: Installed) -> None:
    assert "only books in this language" in installed.run("wellread", "plugins", "shelf").stdout
    hits = json.loads(installed.run("wellread", "search", "white whale", "--source", "shelf", "--json").stdout)["hits"]
    assert [hit["title"] for hit in hits] == ["Moby-Dick"]
    asked = ("ask", "a novel by George Eliot", "--strategy", "first", "--source", "shelf?language=en", "--json")
    found = json.loads(installed.run("wellread", *asked).stdout)
    assert found["answer"] == "Middlemarch is a novel by George Eliot, published in 1871 and 1872. [1]"
    assert found["sentences"][0]["supported"]
    wrong = installed.run("wellread", "ask", "x", "--strategy", "first", "--param", "passages=99")
    assert (wrong.returncode, "at most 10" in wrong.stderr) == (2, True)


def model(asked: dict[str, object]) -> str:
    """Plays every recipe's part well enough to come to an end."""
    said = json.dumps(asked["messages"])
    if "</search_query>" in (asked.get("stop") or []) and "<search_results>" not in said:  # type: ignore[operator]
        return "<search_query>Titan</search_query>"
    return "Titan was discovered by Christiaan Huygens. [1]"


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_runs(installed: Installed, script: Path) -> None:
    with serving(chat(model)) as server:
        spec = "" if script.stem == "quote" else f"openai:m@{server.url}/v1"
        done = installed.run("python", str(script), WELLREAD_MODEL=spec)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout.strip()
        assert script.stem in ("quote", "auto") or server.requests  # auto may be sure without a call

"""What the command does to the machine around it, and what the machine around it does to the command."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wellread.cli.main import with_values

pytestmark = pytest.mark.slow

COMMAND = str(Path(sys.executable).parent / "wellread")
HAMLET = ("ask", "Who wrote Hamlet?", "--effort", "low")


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environ}
    )


def test_an_answer_leaves_only_its_sources_behind_in_the_home_folder(tmp_path: Path) -> None:
    done = run(*HAMLET, HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 0
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["last.json"]  # for `wellread open`


def test_without_a_cache_nothing_is_left_behind(tmp_path: Path) -> None:
    done = run(*HAMLET, "--no-cache", HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 0
    assert list(tmp_path.rglob("*")) == []


def test_a_home_folder_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    done = run(*HAMLET, HOME="/proc/nowhere", XDG_CACHE_HOME="/proc/nowhere/cache")
    assert (done.returncode, done.stderr) == (0, "")


def shell(line: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A line of bash, with `wellread` for the command."""
    words = line.replace("wellread", shlex.quote(COMMAND), 1)
    return subprocess.run(
        ["bash", "-c", words], capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environ}
    )


FULL = "No space left on device"


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("wellread plugins >/dev/full", 1, FULL),
        ("wellread --help >/dev/full", 1, FULL),
        ("PYTHONUNBUFFERED=1 wellread plugins >/dev/full", 1, FULL),
        ("wellread ask - <&-", 2, "the question is empty"),
        ("wellread ask q --trace /proc/nowhere/t", 2, "/proc/nowhere/t: the trace cannot be written"),
        ("wellread ask q --json --events", 2, "--json and --events exclude each other"),
        ("echo q | wellread chat --history /proc/nowhere/h", 2, "/proc/nowhere/h: the conversation cannot be kept"),
        ("WELLREAD_EFFORT=low wellread eval --limit 1 --runs /proc/nowhere", 1, "/proc/nowhere"),
    ],
)
def test_what_the_machine_refuses_is_one_line(line: str, status: int, words: str) -> None:
    done = shell(line)
    assert done.returncode == status
    assert words in done.stderr
    assert done.stderr.startswith("wellread: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("line", ["wellread plugins | head -1", "wellread --help | head -1", "wellread plugins >&-"])
def test_a_reader_who_has_enough_hears_nothing(line: str) -> None:
    assert shell(line).stderr == ""


def test_a_closed_stdout_does_not_stop_a_run(tmp_path: Path) -> None:
    done = shell(f"wellread {shlex.join(HAMLET)} --trace {tmp_path / 't'} >&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert "answered" in (tmp_path / "t").read_text(encoding="utf-8")


@pytest.mark.parametrize("more", ["", "--json"])
@pytest.mark.parametrize(("option", "name"), [("--trace", "trace"), ("--record", "recording")])
def test_a_file_that_cannot_be_written_does_not_cost_the_answer(option: str, name: str, more: str) -> None:
    done = shell(f"wellread {shlex.join(HAMLET)} {option} /dev/full {more}")
    assert "William Shakespeare" in done.stdout
    assert done.returncode == 1
    assert done.stderr == f"wellread: /dev/full: the {name} cannot be written: {FULL}\n"


def test_settings_that_cannot_be_written_are_named() -> None:
    done = shell("wellread init --force /dev/full")
    assert (done.returncode, done.stderr) == (1, f"wellread: /dev/full cannot be written: {FULL}\n")


def test_a_conversation_that_cannot_be_kept_goes_on(tmp_path: Path) -> None:
    earlier = {"question": "Who wrote?", "answer": "x" * 70_000}
    (tmp_path / "h").write_text(json.dumps(earlier) + "\n", encoding="utf-8")
    asked = "printf 'Who wrote Hamlet?\\nWho wrote Hamlet?\\n'"
    done = shell(f"ulimit -f 64; {asked} | wellread chat --effort low --history {tmp_path / 'h'}")
    assert done.stdout.count("Hamlet is a tragedy written by William Shakespeare around the year 1600. [1]") == 2
    assert f"{tmp_path / 'h'}: the conversation cannot be kept: File too large" in done.stderr
    assert done.returncode == 0


def test_letters_that_the_terminal_lacks_are_question_marks() -> None:
    done = run("search", "Hamlet", "--limit", "1", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert done.stdout.endswith(" ?\n")  # the dots of a text that goes on


def test_what_nobody_foresaw_is_one_line_and_can_be_looked_into(tmp_path: Path) -> None:
    program = (
        "import sys; from wellread.cli import init, main\n"
        "def broken(): raise ValueError('first\\nsecond')\n"
        "init.everything = broken; sys.argv = ['wellread', 'plugins']; main.main()"
    )

    def call(**environ: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **environ})

    done = call()
    assert (done.returncode, done.stderr) == (1, "wellread: unexpected ValueError: first (WELLREAD_DEBUG=1 shows where)\n")
    assert "Traceback" in call(WELLREAD_DEBUG="1").stderr


def test_a_stop_is_said_and_is_exit_status_130(tmp_path: Path) -> None:
    # Whoever runs the tests in the background may have told them to ignore the signal.
    command = ["env", "--default-signal=INT", COMMAND, "chat", "--effort", "low"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        started.stdin.write("Who wrote Hamlet?\n")
        started.stdin.flush()
        assert started.stdout.readline()
        time.sleep(0.5)
        started.send_signal(signal.SIGINT)
        time.sleep(0.2)
        _, stderr = started.communicate("\n", timeout=30)
    assert (started.returncode, stderr.splitlines()[-1]) == (130, "wellread: stopped")


def test_a_limit_that_leaves_no_words_has_given_no_answer() -> None:
    done = run(*HAMLET, "--max-searches", "0", "--json")
    assert json.loads(done.stdout)["outcome"] == "exhausted"
    assert done.returncode == 3


def test_whoever_finds_nothing_in_the_library_learns_where_else_to_look(tmp_path: Path) -> None:
    question = ("ask", "What is the capital of Mongolia?", "--effort", "low")
    assert "--source wikipedia" in run(*question).stderr
    assert run(*question, "--json").stderr == ""
    (tmp_path / "note.txt").write_text("The kettle is green.", encoding="utf-8")
    assert run(*question, "--source", f"files:{tmp_path}").stderr == ""


def test_a_quote_is_one_line_however_its_file_is_broken(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("The green kettle was bought\n   in Lisbon in 1998.", encoding="utf-8")
    done = run("ask", "When was the green kettle bought?", "--effort", "low", "--source", f"files:{tmp_path}")
    assert done.stdout.count("The green kettle was bought in Lisbon in 1998.") == 1


def test_a_file_whose_name_is_not_utf_8_is_read_cited_traced_and_recorded(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    with open(name, "w") as file:
        file.write("Notes\n\nSaturn has 146 moons, says the notebook of the observatory.\n")
    program = os.fsencode(Path(sys.executable).parent / "wellread")

    def wellread(*arguments: bytes) -> bytes:
        done = subprocess.run([program, *arguments], capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert b"146 moons" in wellread(b"read", name)
    assert json.loads(wellread(b"read", name, b"--json"))["url"].endswith("/caf%E9.txt")
    asked = (b"ask", b"How many moons has Saturn?", b"--effort", b"low", b"--source", b"files:" + name)
    trace, tape = os.fsencode(tmp_path / "trace"), os.fsencode(tmp_path / "tape")
    answer = json.loads(wellread(*asked, b"--json", b"--trace", trace, b"--record", tape))
    assert answer["citations"][0]["url"].endswith("/caf%E9.txt")
    again = json.loads(wellread(b"replay", tape, b"--json"))
    assert again["citations"] == answer["citations"]
    for line in wellread(*asked, b"--events").splitlines():
        json.loads(line)
    wellread(b"trace", trace, b"--html", os.fsencode(tmp_path / "trace.html"))
    wellread(b"trace", tape)
    index = os.fsencode(tmp_path / "index")
    wellread(b"index", b"build", name, b"--output", index)
    assert json.loads(wellread(b"search", b"moons", b"--source", b"index:" + index, b"--json"))["hits"][0]["text"]


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("index build a --ray", "index build a --ray auto"),
        ("index build a --ray --shards 3", "index build a --ray auto --shards 3"),
        ("index build a --ray 10.0.0.1:6379 --shards 3", "index build a --ray 10.0.0.1:6379 --shards 3"),
        ("ask -- what is --ray", "ask -- what is --ray"),
        ("", ""),
    ],
)
def test_the_address_of_a_ray_cluster_may_be_left_out(typed: str, read: str) -> None:
    assert with_values(typed.split()) == read.split()

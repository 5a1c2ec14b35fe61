from __future__ import annotations

import subprocess
import sys
import time

import pytest
from tests.wire.server import Response, as_json, serving

from wellread.models.default import default_spec, ollama_address


def test_the_first_key_wins() -> None:
    both = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b", "OLLAMA_HOST": "127.0.0.1:9"}
    assert (default_spec(both) or "").startswith("anthropic:claude")
    assert (default_spec({**both, "ANTHROPIC_API_KEY": " "}) or "").startswith("openai:gpt")


def test_a_running_ollama_gives_its_first_chat_model() -> None:
    tags = {
        "models": [
            {"name": "nomic-embed-text:latest", "details": {"family": "nomic-bert"}},
            {"name": "qwen3:8b", "model": "qwen3:8b", "details": {"family": "qwen3"}},
            {"name": "llama3:latest"},
        ]
    }
    with serving([as_json(tags)]) as server:
        assert default_spec({"OLLAMA_HOST": server.url}) == "ollama:qwen3:8b"
        assert server.requests[0].path == "/api/tags"


@pytest.mark.parametrize(
    "response",
    [
        as_json({"models": []}),
        as_json([]),
        as_json({"models": [None, {"name": 3}]}),
        Response([b"<html>"]),
        as_json({}, 500),
        Response([b"{"], ending="cut"),
        Response([5.0]),
    ],
)
def test_anything_else_on_that_port_is_no_model(response: Response) -> None:
    with serving([response]) as server:
        begun = time.monotonic()
        assert default_spec({"OLLAMA_HOST": server.url}) is None
        assert time.monotonic() - begun < 1


def test_nothing_there() -> None:
    begun = time.monotonic()
    assert default_spec({"OLLAMA_HOST": "127.0.0.1:9"}) is None
    assert time.monotonic() - begun < 0.2


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":1234", "http://127.0.0.1:1234"),
        ("box", "http://box:11434"),
        ("box:80", "http://box:80"),
        ("https://box.example", "https://box.example:443"),
        ("http://box:1/path/", "http://box:1/path"),
        ("[::1]:5", "http://[::1]:5"),
        ("box:notaport", "http://127.0.0.1:11434"),
    ],
)
def test_the_address_follows_ollamas_own_rules(host: str, address: str) -> None:
    assert ollama_address({"OLLAMA_HOST": host}) == address


def test_it_imports_no_model_library() -> None:
    heavy = ("pydantic_ai", "openai", "httpx2", "pydantic", "numpy")
    code = f"import sys, wellread.models.default; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"

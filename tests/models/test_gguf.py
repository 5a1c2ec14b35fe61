from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wellread.errors import UsageError
from wellread.models.local import context_length, control_tokens


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def head(*pairs: bytes) -> bytes:
    return struct.pack("<4sIQQ", b"GGUF", 3, 0, len(pairs)) + b"".join(pairs)


WORDS = pair("tokenizer.tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text("bc"))
NUMBERS = pair("scores", 9, struct.pack("<IQ", 6, 3) + bytes(12))
BEFORE = (pair("general.architecture", 8, text("llama")), pair("flag", 7, b"\1"), WORDS, NUMBERS)
WINDOW = pair("llama.context_length", 4, struct.pack("<I", 4096))


def test_the_window_is_found_behind_anything(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(head(*BEFORE, WINDOW))
    assert context_length(file) == 4096
    file.write_bytes(head(*BEFORE))
    assert context_length(file) is None


def vocabulary(*words: tuple[str, int]) -> tuple[bytes, bytes]:
    count = len(words)
    tokens = struct.pack("<IQ", 8, count) + b"".join(text(word) for word, _ in words)
    kinds = struct.pack(f"<IQ{count}i", 5, count, *(kind for _, kind in words))
    return pair("tokenizer.ggml.tokens", 9, tokens), pair("tokenizer.ggml.token_type", 9, kinds)


def test_control_tokens_are_those_that_a_template_writes(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(head(*BEFORE, *vocabulary(("a", 1), ("<turn>", 3), ("<think>", 4), ("<unk>", 2)), WINDOW))
    assert control_tokens(file) == ("<turn>", "<unk>")
    file.write_bytes(head(*BEFORE, WINDOW))
    assert control_tokens(file) == ()


@pytest.mark.parametrize("lists", [struct.pack("<IQ", 8, 2**40), struct.pack("<IQ", 6, 1) + bytes(4), struct.pack("<IQ", 8, 9)])
def test_a_vocabulary_that_nobody_wrote_is_told(tmp_path: Path, lists: bytes) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(head(pair("tokenizer.ggml.tokens", 9, lists)))
    with pytest.raises(UsageError, match="not a whole GGUF file"):
        control_tokens(file)


@pytest.mark.parametrize("content", [b"", b"PK\3\4" + bytes(40), head(*BEFORE, WINDOW)[:60], head(pair("x", 99, b""))])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(content)
    with pytest.raises(UsageError, match="GGUF"):
        context_length(file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        context_length(tmp_path / "none.gguf")


@pytest.mark.parametrize(
    "lists",
    [struct.pack("<IQ", 9, 1) * 5_000, struct.pack("<IQ", 0, 2**64 - 1), struct.pack("<IQ", 12, 2**60)],
    ids=["in each other", "as long as can be", "too long for a file"],
)
def test_lists_that_nobody_wrote_are_told(tmp_path: Path, lists: bytes) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(head(pair("x", 9, lists), WINDOW))
    with pytest.raises(UsageError, match="not a whole GGUF file"):
        context_length(file)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.gguf")
    with pytest.raises(UsageError, match="a pipe or a device"):
        context_length(tmp_path / "m.gguf")
    with pytest.raises(UsageError, match="not a whole GGUF file"):
        context_length(Path("\0.gguf"))


@pytest.mark.parametrize("window", [(5, struct.pack("<i", -5)), (4, bytes(4)), (10, b"\xff" * 8)])
def test_a_window_that_no_model_has_is_none(tmp_path: Path, window: tuple[int, bytes]) -> None:
    (file := tmp_path / "m.gguf").write_bytes(head(pair("llama.context_length", *window)))
    assert context_length(file) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.binary(max_size=60))
def test_rubbish_never_crashes(tmp_path: Path, rubbish: bytes) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(head(*BEFORE, WINDOW)[:24] + rubbish)
    try:
        context_length(file)
    except UsageError:
        return

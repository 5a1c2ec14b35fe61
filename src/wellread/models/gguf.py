"""Reads the few facts wellread needs from the head of a GGUF file, without loading the model."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from wellread.core import safe_files
from wellread.errors import UsageError

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_INTEGERS = {4: "<I", 5: "<i", 10: "<Q", 11: "<q"}
_STRING, _ARRAY = 8, 9
_LONGEST_STRING = 16_000_000
_LONGEST_WINDOW = 1 << 30
_MOST_TOKENS = 10_000_000  # the largest vocabularies have some 260,000
_UNKNOWN, _CONTROL = 2, 3  # kinds of tokens that are found in a text only where a template is filled
T = TypeVar("T")


def context_length(path: Path) -> int | None:
    """The window the model was trained with; None when the file does not say."""
    found = _from_head(path, _window)
    return found if found is not None and 0 < found <= _LONGEST_WINDOW else None


def control_tokens(path: Path) -> tuple[str, ...]:
    """The marks of turns and the like, as they are written in a chat template."""
    return _from_head(path, _control)


def _from_head(path: Path, wanted: Callable[[BinaryIO, int], T]) -> T:
    try:
        with safe_files.opened(path) as file:
            magic, version, _, pairs = struct.unpack("<4sIQQ", file.read(24))
            if magic != b"GGUF" or not 2 <= version <= 9:
                raise UsageError(f"{path} is not a GGUF file")
            return wanted(file, pairs)
    except OSError as problem:
        raise UsageError(f"cannot read {path}: {problem.strerror or problem}") from None
    except (struct.error, KeyError, OverflowError, ValueError, RecursionError):
        raise UsageError(f"{path} is not a whole GGUF file") from None


def _window(file: BinaryIO, pairs: int) -> int | None:
    for _ in range(pairs):
        key, kind = _key(file)
        if key.endswith(b".context_length") and kind in _INTEGERS:
            (value,) = struct.unpack(_INTEGERS[kind], file.read(_SIZES[kind]))
            return int(value)
        _skip(file, kind)
    return None


def _control(file: BinaryIO, pairs: int) -> tuple[str, ...]:
    words: list[bytes] = []
    kinds: tuple[int, ...] = ()
    for _ in range(pairs):
        key, kind = _key(file)
        if key == b"tokenizer.ggml.tokens" and kind == _ARRAY:
            words = [_string(file) for _ in range(_length(file, _STRING))]
        elif key == b"tokenizer.ggml.token_type" and kind == _ARRAY:
            count = _length(file, 4, 5)
            kinds = struct.unpack(f"<{count}i", file.read(4 * count))
        else:
            _skip(file, kind)
    return tuple(
        word.decode("utf-8", "replace") for word, kind in zip(words, kinds, strict=False) if kind in (_UNKNOWN, _CONTROL)
    )


def _key(file: BinaryIO) -> tuple[bytes, int]:
    key = _string(file)
    (kind,) = struct.unpack("<I", file.read(4))
    return key, kind


def _length(file: BinaryIO, *wanted: int) -> int:
    """Of a list of such items."""
    item, count = struct.unpack("<IQ", file.read(12))
    if item not in wanted or count > _MOST_TOKENS:
        raise ValueError
    return count


def _string(file: BinaryIO) -> bytes:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > _LONGEST_STRING:
        raise OverflowError
    return file.read(length)


def _skip(file: BinaryIO, kind: int) -> None:
    if kind == _STRING:
        _string(file)
    elif kind == _ARRAY:
        item, count = struct.unpack("<IQ", file.read(12))
        if item in _SIZES:
            file.seek(_SIZES[item] * count, 1)
        else:
            for _ in range(count):
                _skip(file, item)
    else:
        file.seek(_SIZES[kind], 1)

"""Reads the few facts wellread needs from the head of a GGUF file, without loading the model."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from wellread import regular
from wellread.errors import UsageError

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_INTEGERS = {4: "<I", 5: "<i", 10: "<Q", 11: "<q"}
_STRING, _ARRAY = 8, 9
_LONGEST_STRING = 16_000_000
_LONGEST_WINDOW = 1 << 30


def context_length(path: Path) -> int | None:
    """The window the model was trained with; None when the file does not say."""
    try:
        with regular.opened(path) as file:
            found = _search(file, path)
    except OSError as problem:
        raise UsageError(f"cannot read {path}: {problem.strerror or problem}") from None
    except (struct.error, KeyError, OverflowError, ValueError, RecursionError):
        raise UsageError(f"{path} is not a whole GGUF file") from None
    return found if found is not None and 0 < found <= _LONGEST_WINDOW else None


def _search(file: BinaryIO, path: Path) -> int | None:
    magic, version, _, pairs = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF" or not 2 <= version <= 9:
        raise UsageError(f"{path} is not a GGUF file")
    for _ in range(pairs):
        key = _string(file)
        (kind,) = struct.unpack("<I", file.read(4))
        if key.endswith(b".context_length") and kind in _INTEGERS:
            (value,) = struct.unpack(_INTEGERS[kind], file.read(_SIZES[kind]))
            return int(value)
        _skip(file, kind)
    return None


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

"""Quantised inference: in which arithmetic the package's own models run, by what the processor has and what is installed.

    block   the shipped file as it is: int8 by block, on any processor
    tensor  int8 by layer, made from the shipped file at its first use: x86_64 with VNNI
    bf16    the shipped file in bfloat16 by OpenVINO (extra `fast`): x86_64 with AMX; by hand with AVX-512 bf16 alone

On English text their vectors are within a cosine of 0.998 of float32's. Those of one index are all computed in one way
(docs/decisions/arithmetic-by-processor.md). On aarch64 nothing but `block` was measured, so nothing else is chosen there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

from wellread.errors import MissingExtra

CPUINFO = Path("/proc/cpuinfo")


def instructions(cpuinfo: Path = CPUINFO) -> frozenset[str]:
    """The extensions that the first processor names, as Linux spells them; none where the system does not tell."""
    try:
        lines = cpuinfo.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return frozenset()
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()


Arithmetic: TypeAlias = Literal["block", "tensor", "bf16"]
Choice: TypeAlias = Literal["auto", "block", "tensor", "bf16"]

FIT = ".by_tensor.npz"  # beside a model's file, under its name: what `tensor` needs to know of it
_BFLOAT16 = {"amx_bf16", "avx512_bf16"}
# Without one of these, products of unsigned and signed bytes are summed in 16 bits and overflow.
_BYTE_PRODUCTS = {"amx_int8", "avx512_vnni", "avx_vnni"}


def has_openvino() -> bool:
    """Whether the extra `fast` is installed; nothing is loaded."""
    return find_spec("openvino") is not None


@cache
def best_here() -> Arithmetic:
    """The fastest arithmetic on this machine."""
    return best_for(instructions(), has_openvino)


def best_for(flags: frozenset[str], openvino: Callable[[], bool]) -> Arithmetic:
    """The fastest arithmetic for a processor with these instructions."""
    if "amx_bf16" in flags and openvino():
        return "bf16"
    return "tensor" if flags & _BYTE_PRODUCTS else "block"


def can_run(way: str, model: Path) -> bool:
    """Whether this machine computes this model's file in that way."""
    if way == "tensor":
        return bool(instructions() & _BYTE_PRODUCTS) and model.with_suffix(FIT).is_file()
    if way == "bf16":
        return bool(instructions() & _BFLOAT16) and has_openvino()
    return way == "block"


def settled(choice: Choice, model: Path) -> Arithmetic:
    """The arithmetic that a choice means for this model's file here; raises when it asks for a part that is not installed."""
    if choice == "auto":
        best = best_here()
        return best if best != "tensor" or model.with_suffix(FIT).is_file() else "block"
    if choice == "bf16" and not has_openvino():
        raise MissingExtra("bfloat16", "fast")
    return choice

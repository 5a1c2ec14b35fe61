"""The checks of `test_fuzz.py` on texts that are led by which lines they reach: deeper than chance, for those who have atheris.

python -m pip install atheris           (no part of this project: there is a wheel for x86_64 and Python 3.11 alone)
python -m tests.faults.guided tags -max_total_time=600
"""

from __future__ import annotations

import sys
import tempfile

import atheris  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]

with atheris.instrument_imports(include=["wellread"]):
    from tests.faults import test_fuzz as fuzz

TARGETS = {
    "tags": fuzz.check_tags,
    "actions": fuzz.check_actions,
    "json": fuzz.check_json,
    "citations": fuzz.check_citations,
    "guard": fuzz.check_guard,
}


def main() -> None:
    check = TARGETS[sys.argv.pop(1)]

    def one(data: bytes) -> None:
        check(data.decode("utf-8", "surrogateescape"))

    with tempfile.NamedTemporaryFile("w", suffix=".dict") as words:
        for piece in fuzz.PIECES:
            quoted = "".join(f"\\x{byte:02x}" for byte in piece.encode("utf-8", "surrogatepass"))
            print(f'"{quoted}"', file=words, flush=True)
        atheris.Setup([*sys.argv, f"-dict={words.name}"], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()

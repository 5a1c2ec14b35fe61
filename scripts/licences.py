"""The licences of everything that `pip install wellread` brings, from what is installed: docs/reference/licences.md.

python scripts/licences.py            write the table
python scripts/licences.py --check    say whether it is up to date
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "reference" / "licences.md"
_PINNED = re.compile(r"^([A-Za-z0-9_.-]+)==", re.MULTILINE)
_ELSEWHERE = {"colorama", "pywin32", "httpx2-jsfetch"}  # of other systems, never installed here
# What may be used and passed on in and with a program under the Apache licence without changing that program's licence.
FREE = {"MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0", "ISC", "Zlib", "CC0-1.0", "PSF-2.0", "MPL-2.0"}
FREE |= {"CNRI-Python"}
_SPELLINGS = {
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "BSD-3-Clause, Apache-2.0, dependency licenses": "BSD-3-Clause AND Apache-2.0",
}


def packages() -> list[str]:
    """Pinned for users, on any machine that we test on."""
    names = set(_PINNED.findall((ROOT / "requirements" / "core.txt").read_text(encoding="utf-8")))
    return sorted(names - _ELSEWHERE)


def licence(package: Distribution) -> str:
    """By its SPDX name, as far as the package says it."""
    facts = package.metadata
    classified = [line.rpartition("::")[2].strip() for line in facts.get_all("Classifier") or [] if line.startswith("License")]
    told = facts.get("License-Expression") or (facts.get("License") or "").splitlines()[:1] or classified
    said = told if isinstance(told, str) else (told[0] if told else "")
    return _SPELLINGS.get(said.strip(), said.strip())


def table() -> str:
    rows = []
    for name in packages():
        try:
            rows.append(f"| {name} | {licence(distribution(name))} |")
        except PackageNotFoundError:
            raise SystemExit(f"{name} is pinned and not installed: run make setup") from None
    head = "# Licences\n\nOf everything that an installation brings (made by `scripts/licences.py`; without the extras).\n\n"
    return head + "| package | licence |\n|---|---|\n" + "\n".join(rows) + "\n"


def main() -> None:
    if "--check" in sys.argv:
        raise SystemExit(TABLE.read_text(encoding="utf-8") != table())
    TABLE.write_text(table(), encoding="utf-8")


if __name__ == "__main__":
    main()

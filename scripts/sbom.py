"""What is installed with wellread, version by version and with its licence, as a CycloneDX file and as a table.

    python scripts/sbom.py [--output FILE] [--table]

The set is what `requirements/core.txt` pins and this machine has: run it in the environment that is shipped.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from wellread.version import __version__

PINS = Path(__file__).resolve().parents[1] / "requirements" / "core.txt"
_CLASSIFIER = "License :: OSI Approved :: "
# said in longer words, or as a classifier only, by packages that are installed
_SPDX = {
    "MIT License": "MIT",
    "The MIT License (MIT)": "MIT",
    "Apache Software License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
}


@dataclass(frozen=True)
class Component:
    name: str
    version: str
    licence: str


def components() -> Iterator[Component]:
    for name in dict.fromkeys(re.findall(r"^([\w.-]+)==", PINS.read_text("utf-8"), re.MULTILINE)):
        try:
            found = distribution(name)
        except PackageNotFoundError:  # for another platform
            continue
        yield Component(name, found.version, licence(found))


def licence(found: Distribution) -> str:
    """In SPDX's words where the package says enough, else in its own; empty when it says nothing."""
    said = found.metadata
    if expression := said["License-Expression"]:
        return expression
    classified = [one.removeprefix(_CLASSIFIER) for one in said.get_all("Classifier") or [] if one.startswith(_CLASSIFIER)]
    for words in (*classified, (said["License"] or "").strip().split("\n")[0]):
        if words:
            return _SPDX.get(words, words)
    return ""


def bill(parts: list[Component]) -> dict[str, object]:
    """CycloneDX 1.6."""
    own = {"type": "application", "name": "wellread", "version": __version__, "licenses": [{"license": {"id": "Apache-2.0"}}]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": [
            {
                "type": "library",
                "name": part.name,
                "version": part.version,
                "purl": f"pkg:pypi/{part.name}@{part.version}",
                "licenses": [{"expression": part.licence}] if re.fullmatch(r"[\w.+()-]+( \w+ [\w.+()-]+)*", part.licence)
                else [{"license": {"name": part.licence or "not stated"}}],
            }
            for part in parts
        ],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="where the CycloneDX file goes")
    parser.add_argument("--table", action="store_true", help="print packages and licences")
    given = parser.parse_args()
    parts = list(components())
    if given.table or not given.output:
        for part in parts:
            print(f"{part.name:<28} {part.version:<14} {part.licence or 'not stated'}")
    if given.output:
        given.output.parent.mkdir(parents=True, exist_ok=True)
        given.output.write_text(json.dumps(bill(parts), indent=2) + "\n", encoding="utf-8")
        print(f"{len(parts)} packages in {given.output}", file=sys.stderr)


if __name__ == "__main__":
    main()

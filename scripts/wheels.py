"""Checks that every pinned dependency has a wheel for each platform: nobody should need a compiler to install wellread.

python scripts/wheels.py 3.11 requirements/all.txt …     the package index is pip's own, or PIP_INDEX_URL
"""

from __future__ import annotations

import os
import re
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path

from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from pip._internal.models.index import PyPI

LINUX = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}
MACOS = {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix", "platform_machine": "arm64"}
WINDOWS = {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"}
GLIBC = [*(f"manylinux_2_{minor}" for minor in range(34, 4, -1)), "manylinux2014", "manylinux2010", "manylinux1"]
PLATFORMS = {
    "Linux x86_64": ({**LINUX, "platform_machine": "x86_64"}, [f"{name}_x86_64" for name in GLIBC]),
    "Linux aarch64": ({**LINUX, "platform_machine": "aarch64"}, [f"{name}_aarch64" for name in GLIBC]),
    "macOS arm64": (MACOS, list(mac_platforms((14, 0), "arm64"))),
    "Windows amd64": (WINDOWS, ["win_amd64"]),
}


def wheels(one: Requirement) -> set[Tag]:
    """The tags of all wheels of the pinned version."""
    address = f"{(os.environ.get('PIP_INDEX_URL') or PyPI.simple_url).rstrip('/')}/{canonicalize_name(one.name)}/"
    found: set[Tag] = set()
    with urllib.request.urlopen(address, timeout=60) as reply:
        for name in re.findall(r">\s*([^<>\s]+\.whl)\s*</a>", unescape(reply.read().decode())):
            try:
                _, version, _, tags = parse_wheel_filename(name)
            except InvalidWheelFilename:  # of long ago
                continue
            found |= tags if one.specifier.contains(version, prereleases=True) else set()
    return found


version, files = sys.argv[1] if sys.argv[1:] else "3.11", sys.argv[2:] or ["requirements/all.txt"]
lines = "\n".join(Path(file).read_text(encoding="utf-8").replace("\\\n", " ") for file in files).splitlines()
pinned = [Requirement(line.partition("--hash")[0]) for line in lines if re.match(r"\w", line)]
with ThreadPoolExecutor(8) as pool:
    known = list(zip(pinned, pool.map(wheels, pinned), strict=True))
lacking = 0
for platform, (environment, tags) in PLATFORMS.items():
    python = tuple(map(int, version.split(".")))
    fits = {*cpython_tags(python, platforms=tags), *compatible_tags(python, platforms=tags)}
    here = {**environment, "python_version": version, "python_full_version": f"{version}.0"}
    needed = [(one, there) for one, there in known if one.marker is None or one.marker.evaluate(here)]
    missing = [f"{one.name}{one.specifier}" for one, there in needed if not fits & there]
    print(f"{platform}: {len(needed) - len(missing)} of {len(needed)} have a wheel", *missing, sep="\n  none: ")
    lacking += len(missing)
sys.exit(lacking > 0)

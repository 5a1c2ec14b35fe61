"""What ships beside the wheel: the site, the bill of materials, the container, the service."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.release.conftest import ROOT

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
REQUIRED = bool(os.environ.get("WELLREAD_REQUIRE_SERVICES"))
# Licences that whoever installs wellread accepts; one that is not here is a decision, not an accident.
ACCEPTED = (
    r"(MIT(-0)?|MIT-CMU|Apache-2\.0|0?BSD(-[23]-Clause)?|BSD License|3-Clause BSD License|ISC|MPL-2\.0|PSF-2\.0|Zlib"
    r"|CC0-1\.0|CNRI-Python|BSD-3-Clause, Apache-2\.0, dependency licenses)"
)


def tool(name: str) -> Path:
    if not (BIN / name).exists() and not REQUIRED:
        pytest.skip(f"{name} is not installed: make docs")
    return BIN / name


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [str(tool("mkdocs")), "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        loaded = re.findall(r'<(?:script|img|iframe|link)[^>]*(?:src|href)="(https?://[^"]+)"', page.read_text("utf-8"))
        assert not loaded, page


def test_the_bill_names_every_package_with_a_licence_that_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "sbom.json"
    subprocess.run([sys.executable, str(ROOT / "scripts" / "sbom.py"), "--output", str(path)], check=True, timeout=120)
    bill = json.loads(path.read_text("utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    named = {part["name"] for part in bill["components"]}
    direct = re.findall(r"^([\w.-]+)", (ROOT / "requirements" / "core.in").read_text("utf-8"), re.MULTILINE)
    assert set(direct) <= named
    for part in bill["components"]:
        (licence,) = part["licenses"]
        said = licence.get("expression") or licence["license"]["name"]
        assert re.fullmatch(rf"{ACCEPTED}( (AND|OR) {ACCEPTED})*", said), f"{part['name']}: {said}"


def test_the_dockerfile_passes_its_linter() -> None:
    done = subprocess.run(
        [str(tool("hadolint")), str(ROOT / "deploy" / "Dockerfile")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd")
def test_the_service_is_one_that_systemd_understands() -> None:
    unit = str(ROOT / "deploy" / "wellread.service")
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60, check=False)
    mine = [line for line in done.stderr.splitlines() if "wellread.service" in line and "is not executable" not in line]
    assert not mine


def test_the_commands_that_ship_exist() -> None:
    """Flags in the container and the service are flags of `serve`."""
    from typer.main import get_command

    from wellread.cli.main import app

    known = {option for parameter in get_command(app).commands["serve"].params for option in parameter.opts}  # type: ignore[attr-defined]
    for name in ("Dockerfile", "wellread.service"):
        line = next(
            line for line in (ROOT / "deploy" / name).read_text("utf-8").splitlines() if "serve" in line and "#" not in line
        )
        assert set(re.findall(r"--[\w-]+", line)) <= known

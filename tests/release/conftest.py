"""What a user gets: the wheel in an environment of its own, far from the repository."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Installed:
    wheel: Path
    sdist: Path
    environment: Path  # a virtual environment
    elsewhere: Path  # a folder to be in that is not the repository

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """A command to its end. One that hangs is made to say where all its threads are."""
        with subprocess.Popen(
            [str(self.environment / "bin" / command[0]), *command[1:]],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.elsewhere,
            env=self.environ(PYTHONFAULTHANDLER="1", **variables),
        ) as process:
            try:
                said, complained = process.communicate(timeout=240)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGABRT)
                said, complained = process.communicate(timeout=30)
                pytest.fail(f"{command} did not end:\n{said}\n{complained}")
        return subprocess.CompletedProcess(command, process.returncode, said, complained)

    def environ(self, **variables: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return {**kept, "HOME": str(self.elsewhere), "PATH": f"{self.environment / 'bin'}:{kept['PATH']}", **variables}


def built(project: Path, target: Path, *wanted: str) -> Path:
    """A wheel or sdist, made as an installer makes it, but without the network."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(target), *wanted],
        cwd=project,
        check=True,
        capture_output=True,
        timeout=240,
    )
    return max(target.iterdir(), key=lambda path: path.stat().st_mtime_ns)


def install(environment: Path, wheel: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(environment), "install", "-q", "--no-deps", "--no-index", str(wheel)],
        check=True,
        capture_output=True,
        timeout=240,
    )


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """wellread and the template of a plugin, from their wheels; what they depend on is lent by the tests' environment."""
    folder = tmp_path_factory.mktemp("release")
    wheel, sdist = built(ROOT, folder / "wheel", "-t", "wheel"), built(ROOT, folder / "sdist", "-t", "sdist")
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True, timeout=120)
    own = Path(sysconfig.get_path("purelib", "venv", {"base": str(environment), "platbase": str(environment)}))
    (own / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")  # packages, not their .pth files
    install(environment, wheel)
    install(environment, built(ROOT / "examples" / "plugin", folder / "plugin", "-t", "wheel"))
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    return Installed(wheel, sdist, environment, elsewhere)

"""A real PostgreSQL from Debian's package: a cluster of its own in a temporary folder, on a free port of loopback.

`initdb` refuses to work for root, who lets the user of the package do it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.services.servers import free_port

USER = "wellread"
PASSWORD = "p@ss:w/rd-that-nobody-may-see"
QUOTED = "p%40ss%3Aw%2Frd-that-nobody-may-see"


def programs() -> Path | None:
    """The newest version's, where there is one."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return found[-1].parent if found else None


@dataclass
class Cluster:
    """Databases behind one port; `stop` and `start` are what an operator's restart does to those who are connected."""

    folder: Path
    port: int
    bin: Path
    options: str = ""

    def start(self) -> None:
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' {self.options}"
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-l", str(self.folder / "log"), "-w", "-o", settings, "start")

    def stop(self, how: str = "fast") -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", how, "-w", "stop")

    def create(self) -> None:
        secret = self.folder / "secret"
        secret.write_text(PASSWORD)
        _own(self.folder, secret)
        options = ["--auth=scram-sha-256", f"--username={USER}", f"--pwfile={secret}", "--encoding=UTF8", "--no-sync"]
        self._run("initdb", "-D", str(self.folder / "data"), *options)

    def database(self) -> str:
        """The address of a new, empty one."""
        import psycopg

        name = f"t{secrets.token_hex(6)}"
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.address(name)

    def address(self, name: str) -> str:
        return f"postgresql://{USER}:{QUOTED}@127.0.0.1:{self.port}/{name}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.bin / program), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        environment = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run(
            command, cwd=self.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, check=False
        )
        assert done.returncode == 0, f"{program}: {done.stderr.decode()[-2000:]}"


@contextmanager
def cluster(options: str = "-c fsync=off") -> Iterator[Cluster]:
    """Running until the block ends. Without fsync a crash of the machine would lose data, one of our processes does not."""
    found = programs()
    assert found is not None
    folder = Path(tempfile.mkdtemp(prefix="wellread-postgres-"))
    made = Cluster(folder, free_port(), found, options)
    try:
        _own(folder)
        made.create()
        made.start()
        try:
            yield made
        finally:
            if (folder / "data" / "postmaster.pid").exists():
                made.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _own(*paths: Path) -> None:
    if os.geteuid() == 0:
        for path in paths:
            shutil.chown(path, "postgres", "postgres")

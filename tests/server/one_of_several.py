"""A server process for tests of several on one database: `python -m tests.server.one_of_several ADDRESS DELAY [NAME=VALUE …]`.

Answers come word by word, DELAY seconds apart; the first line on stdout is the port.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from tests.server.stage import engine

from wellread.server import logs, serving
from wellread.server.app import create_app
from wellread.server.options import ServerOptions

ANSWER = "Saturn has 146 moons. [1] " + "Titan is the largest of them. [1] " * 20


def main() -> None:
    address, delay, *changes = sys.argv[1:]
    named: dict[str, Any] = {name: int(value) for name, value in (change.split("=") for change in changes)}
    options = replace(ServerOptions(port=0, history=address, stop_seconds=1.0), **named)
    logs.configure()
    app = create_app(engine=engine(answer=ANSWER, delay=float(delay)), options=options)
    listening = serving.listen(options)
    server = serving.server(app, options)
    print(listening.getsockname()[1], flush=True)  # noqa: T201
    server.run(sockets=[listening])


if __name__ == "__main__":
    main()

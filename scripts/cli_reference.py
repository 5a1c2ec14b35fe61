"""Write docs/reference/command-line.md from the commands' own help texts.

    python scripts/cli_reference.py [--check]

A test runs it with --check, so that the page cannot fall behind.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "command-line.md"
OPENING = """# The command line

Made from the commands' own help by `scripts/cli_reference.py`. Exit status: 0 an answer was given (complete
or cut short by a budget) · 1 failed · 2 wrong usage · 3 no answer found · 130 stopped (Ctrl-C).
"""


def rendered() -> str:
    """The page as it should be."""
    os.environ.update(COLUMNS="80", NO_COLOR="1", TERM="dumb")
    from typer.main import get_command
    from typer.testing import CliRunner

    from wellread.cli.main import app

    parts = [OPENING]
    for path in _paths(get_command(app)):
        help_text = CliRunner().invoke(app, [*path, "--help"]).stdout
        lines = "\n".join(line.rstrip() for line in help_text.strip("\n").splitlines())
        parts.append(f"## wellread {' '.join(path)}".rstrip() + f"\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


def _paths(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from _paths(inner, (*path, name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    page = rendered()
    if parser.parse_args().check:
        sys.exit(0 if PAGE.exists() and PAGE.read_text("utf-8") == page else "run: python scripts/cli_reference.py")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()

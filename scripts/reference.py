"""Write the pages of docs/reference that the program itself knows best: commands, settings, events, options of sources.

    python scripts/reference.py [--check]

A test runs it with --check, so that the pages cannot fall behind.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
COMMANDS = """# The command line

Made from the commands' own help by `scripts/reference.py`. Exit status: 0 an answer was given (complete
or cut short by a budget) · 1 failed · 2 wrong usage · 3 no answer found · 130 stopped (Ctrl-C).

Tab completes commands, flags and names (strategies, sources, models, parameters and their values) after one line in your shell's
start-up file: `eval "$(wellread completion bash)"`, the same with `zsh`, or `wellread completion fish | source`.
"""
SETTINGS = """# Settings

Flags go before `WELLREAD_*` variables, those before the settings file, that before the defaults. `wellread init` writes
the file below to where it is looked for (`~/.config/wellread/config.toml`; `WELLREAD_CONFIG` names another). Each setting
outside of the tables has a variable of its name, `WELLREAD_MODEL` for `model`; lists are parted by blanks. The server's token
belongs into `WELLREAD_TOKEN`. Keys of providers are no settings: they come from the variables that [models](models.md) and
[sources](sources.md) name.
"""
EVENTS = """# Events

What a run reports, in the order in which it happens: `Engine.stream` yields these, `ask --events` and `--trace` print them
as one JSON object a line, `/api/ask` sends them. In JSON the name stands under `event`. The last one is always `answered`,
with the whole answer as `ask --json` prints it. Every event has `at`, the seconds since the run began.

| event | what it holds | |
|---|---|---|
"""


def commands() -> str:
    os.environ.update(COLUMNS="80", NO_COLOR="1", TERM="dumb")
    from typer.main import get_command
    from typer.testing import CliRunner

    from wellread.cli.main import app

    parts = [COMMANDS]
    for path in _paths(get_command(app)):
        help_text = CliRunner().invoke(app, [*path, "--help"]).stdout
        lines = "\n".join(line.rstrip() for line in help_text.strip("\n").splitlines())
        parts.append(f"## wellread {' '.join(path)}".rstrip() + f"\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


def _paths(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from _paths(inner, (*path, name))


def settings() -> str:
    from wellread.cli.init import written

    return f"{SETTINGS}\n```toml\n{written().rstrip()}\n```\n"


def events() -> str:
    from wellread import events as module

    rows: list[str] = []
    for kind in module.EVENTS:
        held = ", ".join(f"`{field.name}`" for field in fields(kind) if field.name != "at")
        told = (kind.__doc__ or "").splitlines()[0]  # a dataclass without words of its own says its signature
        rows.append(f"| `{module.event_name(kind)}` | {held} | {'' if told.startswith(kind.__name__ + '(') else told} |")
    return EVENTS + "\n".join(rows) + "\n"


def sources() -> str:
    """The page as it is, with the table of options in the section of each source made anew."""
    head, *sections = re.split(r"^(?=## )", (FOLDER / "sources.md").read_text("utf-8"), flags=re.M)
    return head + "".join(map(_with_options, sections))


def _with_options(section: str) -> str:
    from wellread import plugins
    from wellread.sources.service import VendorOptions

    name = section.removeprefix("## ").splitlines()[0].partition(",")[0]
    if name not in plugins.names("sources"):
        return section
    shared = {field.name for field in fields(VendorOptions)}
    options = sorted(plugins.plugin("sources", name).parameters, key=lambda option: option.name in shared)
    rows = "".join(f"| `{o.name}` | {_default(o.default)} | {o.help} |\n" for o in options)
    table = f"| option | default | meaning |\n|---|---|---|\n{rows}"
    return re.sub(r"^\| option \|(?:.*\n)+?(?=\n|\Z)", lambda _: table, section, count=1, flags=re.M)


def _default(value: object) -> str:
    if value is None or value == ():
        return "–"
    if isinstance(value, tuple):
        return f"`{','.join(map(str, value))}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


PAGES: dict[str, Callable[[], str]] = {
    "command-line.md": commands,
    "settings.md": settings,
    "events.md": events,
    "sources.md": sources,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say whether the pages are up to date")
    check = parser.parse_args().check
    for name, made in PAGES.items():
        page, path = made(), FOLDER / name
        if check and (not path.exists() or path.read_text("utf-8") != page):
            sys.exit(f"{path.name} has fallen behind; run: python scripts/reference.py")
        if not check:
            path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()

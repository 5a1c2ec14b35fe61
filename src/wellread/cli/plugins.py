"""`wellread plugins`: what can be named in a spec, with all parameters."""

from __future__ import annotations

import difflib
import textwrap
from typing import Annotated

import typer

from wellread.cli import completion, options
from wellread.cli.terminal import note, say, say_json
from wellread.plugins import KINDS, Plugin, everything, one_of


def plugins(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Show only plugins of this name or kind.", autocompletion=completion.kinds),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """List strategies, sources, models, embedders, re-rankers and graders with their parameters."""
    known = everything()
    found = [plugin for plugin in known if name in (None, plugin.name, plugin.kind, one_of(plugin.kind))]
    if not found:
        close = difflib.get_close_matches(name or "", [*KINDS, *(plugin.name for plugin in known)], n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        note(f"wellread: nothing is called {name!r}{hint}; the kinds are: {', '.join(KINDS)}")
    if as_json:
        from wellread.events import to_json

        say_json(to_json(found))
    else:
        for kind in KINDS:
            _list(kind, [plugin for plugin in found if plugin.kind == kind], detailed=name is not None)
    raise typer.Exit(0 if found else 3)


def _list(kind: str, found: list[Plugin], *, detailed: bool) -> None:
    if not found:
        return
    say(f"{kind}")
    for plugin in found:
        say(textwrap.fill(f"{plugin.name:<14} {plugin.summary}", 80, initial_indent="  ", subsequent_indent=" " * 17))
        if detailed or plugin.kind == "strategies":
            for one in plugin.parameters:
                line = f"{one.name}={one.default} ({one.kind})  {one.help}"
                say(textwrap.fill(line, 80, initial_indent="      ", subsequent_indent=" " * 10))
    say("")

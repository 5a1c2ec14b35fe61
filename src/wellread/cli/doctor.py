"""`wellread doctor`: is everything in place, and what to do where it is not."""

from __future__ import annotations

import typer

from wellread.cli import options
from wellread.cli.terminal import say, say_json

SIGNS = {"ok": "✓", "note": "·", "problem": "✗"}


def doctor(as_json: options.AsJson = False) -> None:
    """Check Python, weights, library, keys, servers and settings. Exit status 1 when something is broken.

    Keys are only looked for, never printed.
    """
    from wellread.server import diagnosis

    findings = diagnosis.findings()
    if as_json:
        from wellread.events import to_json

        say_json(to_json(findings))
    else:
        for finding in findings:
            say(f"{SIGNS[finding.state]} {finding.what}")
            if finding.advice:
                say(f"    {finding.advice}")
    raise typer.Exit(1 if any(finding.state == "problem" for finding in findings) else 0)

"""Settings that were saved while the server runs: which of them hold from the next question on, and why the others do not.

Model, sources and effort are chosen anew for every question, so that they can change between two. What this start was given by a
flag or a variable goes before the file, now as at the next start. A part that has been built with a key keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from wellread import settings as settings_module
from wellread.server.service import Service
from wellread.settings import Settings

AT_ONCE = ("model", "sources", "effort")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a change."""

    held: tuple[str, ...] = ()  # settings that a flag or a variable has given for this start
    old_keys: bool = False  # a key that was there before was changed
    others: bool = False  # other processes serve too, and have read the file already

    @property
    def sentence(self) -> str:
        if self.others:
            return "Saved. It holds from the next start of the server on: all of its processes have to read it."
        parts = ["Saved. It holds from the next question on."]
        if self.held:
            names = " and ".join(self.held)
            parts.append(f"Not so {names}: given by a flag or a variable of this start, which goes before the file.")
        if self.old_keys:
            parts.append("A key that was there before is used until the next start: connections may be open with it.")
        return " ".join(parts)


def take(here: Service, before: Settings, keys: Mapping[str, str | None]) -> Outcome:
    """Bring what was saved into force; `before` is what the file and the variables said until then. Blocks."""
    if here.options.workers > 1:
        return Outcome(others=True)
    after, now = settings_module.load(), here.engine.settings
    free = [name for name in AT_ONCE if getattr(now, name) == getattr(before, name)]
    fresh = replace(now, keys=after.keys, **{name: getattr(after, name) for name in free})
    old_keys = any(here.engine.kit.environ.get(name, "").strip() for name in keys)
    here.resettle(fresh)
    saved = settings_module.load(environ={"WELLREAD_CONFIG": str(settings_module.config_path())})  # by the file alone
    held = tuple(name for name in AT_ONCE if getattr(fresh, name) != getattr(saved, name))
    return Outcome(held, old_keys)

"""API keys in the keyring of the system (Secret Service, the keychain of macOS, …), where there is one and the extra `keyring`.

The settings file then says only that a key is there: `ANTHROPIC_API_KEY = "keyring:wellread"`.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

_SERVICE = "wellread"
MARK = f"keyring:{_SERVICE}"  # in the place of a key
_SAFE = 1.0  # from this priority on a backend is better than a file that its owner alone can read; below are plain files
_WORKS = 0.1  # below this one keeps nothing


def is_mark(value: object) -> bool:
    return isinstance(value, str) and value.startswith("keyring:")


def backend() -> str | None:
    """Name of the keyring backend in use; None where there is none that works."""
    found = _backend()
    return None if found is None else str(found.name)


@cache
def key(name: str) -> str | None:
    """A key that was kept; None where there is none, or where the keyring is locked or away. Asked once a process."""
    found = _backend()
    with suppress(Exception):  # whatever a backend raises: it is somebody else's
        return found.get_password(_SERVICE, name) if found is not None else None
    return None


def keep(name: str, value: str) -> bool:
    """Whether the keyring has taken it, and gives it back."""
    found = _backend()
    key.cache_clear()
    if found is None:
        return False
    with suppress(Exception):
        found.set_password(_SERVICE, name, value)
        return found.get_password(_SERVICE, name) == value
    return False


def forget(name: str) -> None:
    found = _backend()
    key.cache_clear()
    if found is not None:
        with suppress(Exception):  # it was not there
            found.delete_password(_SERVICE, name)


def _backend() -> KeyringBackend | None:
    try:
        import keyring.core as core
    except ImportError:
        return None
    with suppress(Exception):
        chosen: Any = core.load_env() or core.load_config()  # a person has named it: then any will do
        found: Any = chosen or core.get_keyring()
        return found if found.priority >= (_WORKS if chosen else _SAFE) else None
    return None

"""Credentials in URLs (`http://user:password@host`): redacted in everything that is shown."""

from __future__ import annotations

import re

# `ray://NAME@ADDRESS` names an index; there is a login where the scheme was forgotten, too, but none in `x:qwen3:8b@http://…`
_LOGIN = re.compile(r"(?<=://)(?<!ray://)[^/?#\\\s]*@|(?<=[:@/\\])[^:/@\s\\]+:[^/@\s]+@(?!\w+://)")


def without_logins(text: str) -> str:
    """The same without the logins of the addresses in it."""
    return _LOGIN.sub("", text)

"""Who may come in: the token as a bearer, or a signed cookie that stands for it in a browser."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import deque
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie

COOKIE = "wellread_session"
_DAYS = 30
_TRIES = 10  # wrong tokens a minute, in all; a token is long, this only keeps logs and CPU quiet


@dataclass(slots=True)
class Access:
    """Checks credentials in constant time. Without a token everybody on this machine may come in."""

    token: str | None
    _wrong: deque[float] = field(default_factory=lambda: deque[float](maxlen=_TRIES))

    def allowed(self, authorization: str, cookies: str) -> bool:
        if self.token is None:
            return True
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() == "bearer" and self.is_token(given.strip()):
            return True
        return self._is_session(_cookie(cookies))

    def is_token(self, given: str) -> bool:
        """Compare digests: neither length nor prefix can be measured."""
        if self.token is None:
            return True
        return hmac.compare_digest(_digest(given), _digest(self.token))

    def wrong(self) -> None:
        self._wrong.append(time.monotonic())

    def locked(self) -> bool:
        """Whether there were too many wrong tokens within the last minute."""
        return len(self._wrong) == _TRIES and time.monotonic() - self._wrong[0] < 60

    def cookie(self, *, secure: bool) -> str:
        """A `Set-Cookie` value: an expiry and its signature, not the token."""
        expiry = str(int(time.time()) + _DAYS * 86_400)
        value = f"{expiry}.{self._sign(expiry)}"
        tail = "; Secure" if secure else ""
        return f"{COOKIE}={value}; Path=/; Max-Age={_DAYS * 86_400}; HttpOnly; SameSite=Lax{tail}"

    def _is_session(self, value: str) -> bool:
        expiry, _, signature = value.partition(".")
        right = hmac.compare_digest(signature.encode(), self._sign(expiry).encode())
        return right and expiry.isdecimal() and int(expiry) > time.time()

    def _sign(self, text: str) -> str:
        key = _digest("wellread session " + (self.token or ""))
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""

"""Who may come in: the token as a bearer, or a signed cookie that stands for it in a browser."""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass

COOKIE = "wellread_session"
_DAYS = 30
_LONGEST_COOKIES = 8_192  # characters


@dataclass(slots=True)
class Access:
    """Checks credentials in constant time. Without a token everybody on this machine may come in.

    Nobody is locked out for wrong tokens, their own or those of others at the same address: a token is too long to be guessed.
    """

    token: str | None

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
    """Ours among the cookies of a request. Nobody has been let in yet: this must cost nothing, whatever is sent."""
    if len(header) > _LONGEST_COOKIES:
        return ""
    pairs = (pair.partition("=") for pair in header.split(";"))
    return next((value.strip() for name, _, value in pairs if name.strip() == COOKIE), "")

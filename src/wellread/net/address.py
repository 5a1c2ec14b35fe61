"""Addresses and who is there: what an operator configures for a service, this machine, ourselves, one page by two names."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from wellread.core.values import frozen
from wellread.errors import UsageError

_TRACKING = re.compile(
    r"^(utm_.*|fbclid|gclid|dclid|gbraid|wbraid|msclkid|mc_[ce]id|igshid|yclid|_ga|_gl|ref_src|ref_url|cmpid|ocid|smid|ncid|spm)$",
    re.IGNORECASE,
)
_PORTS = {"http": 80, "https": 443}
LOCAL_ZONES = frozenset(  # in which no name is one of the web
    {"localhost", "local", "localdomain", "internal", "intranet", "private", "lan", "home", "corp", "workgroup"}
    | {"onion", "invalid", "test", "arpa"}
)
_NAMED = re.compile(r"(?P<name>.+?)@(?P<address>https?://.+)", re.IGNORECASE)


def user_agent(environ: Mapping[str, str] = os.environ) -> str:
    """Who we are; `WELLREAD_CONTACT` adds an address that a service's operator can write to."""
    from importlib.metadata import version

    contact = _contact(environ)
    return f"wellread/{version('wellread')} (answer engine{'; ' + contact if contact else ''})"


def mail_address(environ: Mapping[str, str]) -> str | None:
    """`WELLREAD_CONTACT` if it is a mail address, which services of scholars like to be given."""
    found = _contact(environ).removeprefix("mailto:")
    return found if re.fullmatch(r"[^@\s/]+@[^@\s/]+\.[^@\s/]+", found) else None


def _contact(environ: Mapping[str, str]) -> str:
    return "".join(c for c in environ.get("WELLREAD_CONTACT", "") if c.isprintable() and c.isascii()).strip()


@frozen
class Address:
    """Where a configured service is, with the login that stood in its address."""

    url: str
    host: str
    keys: Mapping[str, str]

    @property
    def own(self) -> bool:
        """Whether it is the operator's: behind a login, or on a host that no stranger knows."""
        return bool(self.keys) or is_of_own_network(urlsplit(self.url).hostname or "")


def address(argument: str, source: str, example: str) -> Address:
    """A configured address, checked for its form. It may be local: the operator chose it."""
    import httpx2  # here, so that asking whether a host is this machine loads no HTTP client

    text = argument.strip().rstrip("/")
    try:
        url = httpx2.URL(text) if urlsplit(text).hostname else httpx2.URL("")
    except (httpx2.InvalidURL, ValueError):
        url = httpx2.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise UsageError(f"{source} needs the address of a server: {source}:{example}")
    login = f"{url.username}:{url.password}".encode()
    keys = {"Authorization": "Basic " + base64.b64encode(login).decode()} if url.username else {}
    plain = url.copy_with(username=None, password=None)
    return Address(str(plain).rstrip("/"), plain.netloc.decode(), keys)


def secrets(key: str) -> Iterator[str]:
    """The value of a header that must stay secret, and the ways in which a service may say it again: without its scheme, a login
    in the clear."""
    word = key.rpartition(" ")[2]
    yield from (key, word)
    if key.startswith("Basic "):
        login = base64.b64decode(word).decode(errors="replace")
        yield from (login, password := login.partition(":")[2], quote(password, safe=""))


def name_and_address(argument: str) -> tuple[str, str]:
    """`NAME@http://…` as its two parts; the address is empty where none is given."""
    found = _NAMED.fullmatch(argument)
    return (found["name"], found["address"]) if found else (argument, "")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: `127.0.0.1`, `::1`, `localhost`, `x.localhost`."""
    host = host.strip("[]").lower().rstrip(".")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_of_own_network(host: str) -> bool:
    """Whether no stranger knows a host by this name: this machine, an address that is not global, `wiki`, `wiki.lan`."""
    host = host.strip("[]").lower().rstrip(".")
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.rpartition(".")[2] in LOCAL_ZONES


def canonical(url: str) -> str:
    """A key that is equal for addresses of one page: only for comparing, not for fetching.

    Scheme, `www.`, mobile hosts, default ports, fragments, tracking parameters, their order and a
    closing slash make no difference.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return url.strip()
    if parts.scheme.lower() not in _PORTS or not parts.hostname:
        return url.strip()
    host = parts.hostname.removeprefix("www.").removesuffix(".")
    host = re.sub(r"^(?:m|mobile)\.|(?<=^[a-z]{2})\.m(?=\.)|(?<=^[a-z]{3})\.m(?=\.)", "", host)
    if port is not None and port != _PORTS[parts.scheme.lower()]:
        host += f":{port}"
    path = quote(unquote(parts.path), safe="/:@!$&'()*+,;=~-._").rstrip("/")
    path = re.sub(r"/(index\.(html?|php)|amp)$", "", path)
    query = sorted((k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if not _TRACKING.match(k))
    return f"{host}{path}" + (f"?{urlencode(query)}" if query else "")

"""When two addresses are the same page."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

_TRACKING = re.compile(
    r"^(utm_.*|fbclid|gclid|dclid|gbraid|wbraid|msclkid|mc_[ce]id|igshid|yclid|_ga|_gl|ref_src|ref_url|cmpid|ocid|smid|ncid|spm)$",
    re.IGNORECASE,
)
_PORTS = {"http": 80, "https": 443}


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

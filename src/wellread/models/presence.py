"""Whether a model's server is there, found out in one connection, before a run relies on it."""

from __future__ import annotations

import asyncio
import urllib.request
from urllib.parse import urlsplit

from wellread.errors import ModelError
from wellread.models.failures import Where

_SECONDS = 3.0


async def reachable(where: Where) -> None:
    """Raise where nobody listens at the address. Behind a proxy only a call can tell."""
    parts = urlsplit(where.address or "")
    if not parts.hostname or (not where.loopback and urllib.request.getproxies()):
        return
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except OSError as problem:  # a timeout is one, too
        hint = ": is the server running?" if where.loopback else ""
        raise ModelError(where.model, f"cannot reach {where.address} ({problem or 'no reply in time'}){hint}") from None
    writer.close()

"""Who sends a body slowly may take all the time there is, as long as nobody else wants the place."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable

from starlette.exceptions import HTTPException

GRACE = 10.0  # seconds that everybody has
LEAST = 50_000  # bytes a second after that, while the place is wanted
_LOOK = 0.5  # seconds between two looks at whether it is


async def hastened(body: AsyncGenerator[bytes], wanted: Callable[[], bool]) -> AsyncGenerator[bytes]:
    """The pieces of a body as they come. One that is too slow is given up once its place is wanted."""
    begun, taken = time.monotonic(), 0
    coming = asyncio.ensure_future(anext(body, None))
    try:
        while True:
            await asyncio.wait([coming], timeout=_LOOK)
            if coming.done():
                piece = coming.result()
                if piece is None:
                    return
                taken += len(piece)
                yield piece
                coming = asyncio.ensure_future(anext(body, None))
            if time.monotonic() - begun > GRACE + taken / LEAST and wanted():
                raise HTTPException(408, "the documents came too slowly, and others wanted to send theirs")
    finally:
        coming.cancel()

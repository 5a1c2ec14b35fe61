"""One thread beside the event loop for pages that take long to make.

One, because Python runs one at a time: several would only take turns with the loop, which waits for its own behind all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
_thread = ThreadPoolExecutor(1, thread_name_prefix="wellread-pages")


async def beside(make: Callable[[], T]) -> T:
    """What it makes, once it is its turn."""
    return await asyncio.get_running_loop().run_in_executor(_thread, make)

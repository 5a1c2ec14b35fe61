"""Loopback servers that speak vendors' documented protocols, with every fault under control.

    async with WireServer([openai.said("Hello", " there")]) as server:
        ... f"openai:m@{server.url}/v1" ...

`serving(answer)` runs one in a thread, for tests that start a process or have no event loop.
"""

"""The server: a page, an HTTP API, an OpenAI-compatible endpoint and MCP, all readers of one event stream."""

"""The sources' fixtures, for tests against real servers."""

from tests.sources.conftest import build, serve

__all__ = ["build", "serve"]

"""The servers of the network's tests serve here too."""

from tests.net.conftest import site, trap

__all__ = ["site", "trap"]

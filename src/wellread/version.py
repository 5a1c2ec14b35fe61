"""The version, apart from the public names so that every layer may know it."""

__version__ = "0.2.0"

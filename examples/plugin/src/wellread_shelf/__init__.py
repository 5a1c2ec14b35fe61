"""A source and a strategy for wellread."""

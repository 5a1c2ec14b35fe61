"""The one way out: guard, robots, transports, cache, keys, pace."""

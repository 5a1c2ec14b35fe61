"""Past one machine: an index in shards, built and searched on Ray."""

"""Where a save is copied to: memory laid out as its files, whole, in passing, in shards, or as they come."""

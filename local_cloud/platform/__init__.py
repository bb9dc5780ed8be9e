"""The adapter of ministack, the platform: everything that is not a service of ours is answered by it."""

"""Belay deployed on a local cloud, and runs on it: shared by the demo, the proofs, benchmarks and end-to-end tests."""

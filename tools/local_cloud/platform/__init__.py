"""The adapter of ministack, which answers for every service that is not ours."""

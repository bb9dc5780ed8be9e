"""`make demo`, `make drill`, `make cloud`: the example job on a local cloud, for people to see."""

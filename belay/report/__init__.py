"""One page about one run or several: what happened, where the time and the money went, what would improve it. Pure."""

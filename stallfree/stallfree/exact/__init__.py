"""A resumed training equals the uninterrupted one: the order of its data, its random numbers, the loss that it logs."""

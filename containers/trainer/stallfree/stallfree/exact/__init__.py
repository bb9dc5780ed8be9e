"""A resumed training is the uninterrupted one: its data's order, the random numbers in it, and the loss it tells of."""

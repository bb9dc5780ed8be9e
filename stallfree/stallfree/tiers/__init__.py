"""A fast folder in front of the one that counts: saved there often, moved on in the background when that is due."""

"""Faults for checkpoints: processes that are killed, system calls that fail, power that is cut."""

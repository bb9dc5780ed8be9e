"""Fire for checkpoints: processes killed, calls to the kernel that fail, power that is cut."""

"""The container's entry point: mount, supervise, run, record."""

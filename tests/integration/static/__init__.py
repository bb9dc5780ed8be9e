"""What `make security` and `make dockerfile` would let through if they did not look: a planted defect for each."""

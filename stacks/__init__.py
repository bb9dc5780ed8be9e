"""What is deployed once: two stacks, and the two flow charts in `workflow/`."""

"""What looks after runs from outside their flow: pump, sweep, interruption."""

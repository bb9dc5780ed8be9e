"""What is used while working on Belay, and never deployed."""

"""What is asked of AWS, in AWS's words, and what its answers mean. Every client of ours is here."""

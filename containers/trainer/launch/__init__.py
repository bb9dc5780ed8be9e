"""What is started for a job: the command, as whom it runs, its environment variables."""

"""What the handlers share: readings of FSx, ECS, S3 and the log, and the decisions made on them."""

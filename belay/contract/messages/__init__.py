"""What the flows ask the Lambdas, and what they answer: one model for each question and each answer."""

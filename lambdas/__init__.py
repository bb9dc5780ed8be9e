"""One thin handler for each question that a flow asks, by flow."""

"""One thin handler for each question that a flow asks. What they share lies in `sense/`."""

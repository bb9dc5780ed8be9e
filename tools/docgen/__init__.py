"""Documents that are written from the code, and checks of the commands that documents name."""

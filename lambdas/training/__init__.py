"""Asked while a run is prepared and trains."""

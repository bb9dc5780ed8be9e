"""AWS on this machine: enough of it, and true enough, to run Belay's own templates unchanged."""

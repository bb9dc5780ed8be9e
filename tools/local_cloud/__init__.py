"""An emulation of AWS on this machine that runs Belay's own templates, Lambdas and trainer unchanged."""
